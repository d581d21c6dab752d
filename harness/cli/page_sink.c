/* Page sink: a file or standard output behind one text. Not which of them a command may write to. */
#include "harness/cli/page_sink.h"

#include "harness/cli/output.h"

enum status_code page_sink_open(const char *path, struct page_sink *sink, struct status *error)
{
    *sink = (struct page_sink){.to_stdout = output_drain()};
    enum status_code code = path != NULL ? file_replacement_open(path, FILE_NAMED, &sink->file, error) : STATUS_OK;
    sink->text.drain = sink->file != NULL ? file_replacement_drain(sink->file) : &sink->to_stdout;
    return code;
}

enum status_code page_sink_close(struct page_sink *sink, enum status_code code, struct status *error)
{
    if (code != STATUS_OK) {
        file_replacement_abandon(sink->file);
    } else if (sink->file != NULL) {
        code = file_replacement_finish(sink->file, &sink->text, error);
    } else {
        code = output_text(&sink->text, error);
    }
    text_release(&sink->text);
    return code;
}
