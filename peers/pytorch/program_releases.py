#!/usr/bin/env python3
"""programs.py under an older release of transformers: the same options, the Trainer alone.

    PYTHONPATH=FOLDER-OF-THAT-RELEASE python3 peers/pytorch/program_releases.py --device meta --tiny --only hf-trainer --out FILE

Classes of models that the release does not have yet are stood in for, so that peer_models.py can be imported; cases of such
models fail by themselves.
"""
import sys

import transformers

RELEASE = tuple(int(part) for part in transformers.__version__.split(".")[:2])


def missing_classes_stand_in():
    kind = type(transformers)
    find = kind.__getattr__

    def find_or_make(module, name):
        try:
            return find(module, name)
        except (AttributeError, ImportError):
            if not name[:1].isupper():
                raise
            return type(name, (), {})

    kind.__getattr__ = find_or_make


def dtype_by_its_old_name():
    if RELEASE >= (4, 56):
        return
    make = transformers.PreTrainedModel._from_config.__func__

    def from_config(kind, config, dtype=None, **words):
        return make(kind, config, torch_dtype=dtype, **words)

    transformers.PreTrainedModel._from_config = classmethod(from_config)


def cases_say_their_release(program_module):
    tell = program_module.case_line
    program_module.case_line = lambda case, options: tell({**case, "release": "transformers=%d.%d" % RELEASE}, options)


if __name__ == "__main__":
    missing_classes_stand_in()
    dtype_by_its_old_name()
    import programs
    cases_say_their_release(programs)
    sys.exit(programs.main())
