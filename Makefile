# assay: one entry for people and for CI. `make help` lists the targets, `make info` says what was detected.
#
# harness/*/*.c and models/*/*.c become libassay.a, harness/cli/*.c the program, every tests/<area>/test_*.c a test
# program (the other .c files of the area, and tests/support/*.c, are linked into each). Nothing is listed by hand.

# `make run` and `make test` start on a bare machine, so what is missing is installed before anything is detected.
ifneq ($(filter run test,$(MAKECMDGOALS)),)
ifeq ($(findstring n,$(firstword -$(MAKEFLAGS))),)
DEPS := $(shell ci/install-deps.sh $(DEPS_OPTIONS))
ifneq ($(.SHELLSTATUS),0)
$(error ci/install-deps.sh failed, see above)
endif
endif
endif

# All cores, unless -j was given.
ifeq ($(filter -j%,$(MAKEFLAGS)),)
MAKEFLAGS += -j$(shell nproc 2>/dev/null || echo 2)
endif

PREFIX  ?= /usr/local
DESTDIR ?=
VARIANT ?= release
CC      ?= cc
# For `make bench` and `make gpu`: the device to measure, and a Python that has torch, to measure beside it.
DEVICE  ?= host
PYTHON  ?= python3
OPENMP  ?= $(shell printf 'int main(void){return 0;}' | $(CC) -fopenmp -x c - -o /dev/null 2>/dev/null && echo -fopenmp)

ifeq ($(VARIANT),release)
BUILD   := build
OPTIMISE := -O2 -g
else ifeq ($(VARIANT),san)
BUILD   := build/san
OPTIMISE := -O1 -g -fno-omit-frame-pointer -fsanitize=address,undefined -fno-sanitize-recover=all
else
$(error VARIANT=$(VARIANT) is not known; use release or san)
endif

WARNINGS := -Wall -Wextra -Wpedantic -Wconversion -Wsign-conversion -Wshadow -Wstrict-prototypes \
            -Wmissing-prototypes -Wvla $(if $(WERROR),-Werror)
CSTD     := -std=c11 -D_GNU_SOURCE -I.
CFLAGS   ?=
C_FLAGS   = $(CSTD) $(OPTIMISE) $(WARNINGS) -pthread -MMD -MP $(CFLAGS)
# libcurl is opened at run time, when a model of the hub is asked for; its header is all that the build needs of it.
CURL_WHY_NOT := $(if $(filter no,$(CURL)),CURL=no was given,$(shell printf '\043include <curl/curl.h>\n' | \
                $(CC) -fsyntax-only -x c - 2>/dev/null || echo 'curl/curl.h is missing: run ci/install-deps.sh'))
# Without these nothing compiles, which is said before hundreds of sources say so. What was built here once is not asked
# again.
ifeq ($(if $(filter all tests install check bench,$(or $(MAKECMDGOALS),all)),$(wildcard $(BUILD)/assay),no),)
HEADERS_MISSING := $(strip $(foreach h,hwloc.h jansson.h yaml.h sqlite3.h,$(shell printf '\043include <%s>\n' $(h) | \
                $(CC) -fsyntax-only -x c - 2>/dev/null || echo $(h))))
ifneq ($(HEADERS_MISSING),)
$(error missing: $(HEADERS_MISSING). Run ci/install-deps.sh, or as root: apt-get install \
        $(shell CC="$(CC)" ci/install-deps.sh --needed))
endif
endif
LDLIBS   := -lhwloc -ljansson -lyaml -lsqlite3 -ldl -lm -pthread $(OPENMP)

# ---- sources ----
LIB_C      := $(filter-out harness/cli/%,$(wildcard harness/*/*.c)) $(wildcard models/*/*.c)
CLI_C      := $(wildcard harness/cli/*.c)
TEST_C     := $(wildcard tests/*/test_*.c)
HELPER_C   := $(filter-out $(TEST_C),$(wildcard tests/*/*.c))
LIB        := $(BUILD)/libassay.a
PROGRAM    := $(if $(CLI_C),$(BUILD)/assay)
object      = $(1:%.c=$(BUILD)/obj/%.o)

# ---- CUDA: a plug-in, built if there is a compiler for it ----
NVCC       ?= $(or $(shell command -v nvcc 2>/dev/null),$(wildcard /usr/local/cuda/bin/nvcc))
CUDA_CU    := $(wildcard harness/kernels/*.cu harness/device/cuda/*.cu)
CUDA_C     := $(wildcard harness/device/cuda/*.c) $(wildcard harness/kernels/call_check*.c) \
              harness/kernels/dtype.c harness/kernels/operation.c harness/device/product_plan.c \
              harness/base/status.c harness/base/size.c harness/base/code_point.c harness/base/library_symbol.c
CUDA_WHY_NOT := $(if $(NVCC),$(if $(CUDA_CU),,there are no .cu sources),nvcc was not found on PATH or in \
                  /usr/local/cuda/bin)
ifneq ($(VARIANT),release)
CUDA_WHY_NOT := the sanitizers do not go into a CUDA library
endif
ifeq ($(CUDA),no)
CUDA_WHY_NOT := CUDA=no was given
endif
ifeq ($(CUDA_WHY_NOT),)
PLUGIN     := $(BUILD)/libassay_cuda.so
CUDA_HOME  := $(abspath $(dir $(or $(realpath $(NVCC)),$(NVCC)))..)
# conda has the headers of a target in its folder alone.
CUDA_INCLUDE := $(or $(patsubst %/cublas_v2.h,%,$(firstword $(wildcard $(CUDA_HOME)/include/cublas_v2.h \
              $(CUDA_HOME)/targets/*-linux/include/cublas_v2.h))),$(CUDA_HOME)/include)
# Toolkits from 12.0 to 13.x build it, each for those of these that it knows: 12.0 ends at 90, 13 begins at 75.
CUDA_WISH  := 75 80 86 89 90 100 120
CUDA_OFFER := $(patsubst compute_%,%,$(shell $(NVCC) --list-gpu-code 2>/dev/null | sed 's/sm_/compute_/'))
CUDA_ALL   := $(filter $(CUDA_OFFER),$(CUDA_WISH))
# Without CUDA_ARCHS: code for the GPUs that are here. Code for all of CUDA_WISH if there is no GPU, if nvcc or the
# driver cannot name one, if the build is for other machines (install), and if CUDA_WISH was given. A GPU that is too
# old for the plug-in is none.
CUDA_OLD   := 10 11 12 13 20 21 30 32 35 37 50 52 53 60 61 62 70 72
CUDA_HERE  := $(if $(CUDA_ARCHS)$(filter clean help,$(MAKECMDGOALS)),,$(filter-out $(CUDA_OLD),$(shell ci/gpu-here.sh)))
ifeq ($(origin CUDA_ARCHS),undefined)
CUDA_ELSE  := $(filter-out $(CUDA_OFFER),$(or $(CUDA_HERE),none))
CUDA_MORE  := $(filter install,$(MAKECMDGOALS))$(CUDA_ELSE)$(filter-out file,$(origin CUDA_WISH))
CUDA_ARCHS := $(if $(CUDA_MORE),$(CUDA_ALL),$(CUDA_HERE))
# What was built for more than that serves.
CUDA_BUILT := $(filter $(CUDA_OFFER),$(shell cat $(BUILD)/cuda/architectures 2>/dev/null))
CUDA_ARCHS := $(if $(filter-out $(CUDA_BUILT),$(CUDA_ARCHS)),$(CUDA_ARCHS),$(CUDA_BUILT))
endif
GENCODE     = $(foreach a,$(CUDA_ARCHS),-gencode arch=compute_$(a),code=sm_$(a)) \
              -gencode arch=compute_$(lastword $(CUDA_ARCHS)),code=compute_$(lastword $(CUDA_ARCHS))
CUDA_NOTE  := $(BUILD)/cuda/architectures
NVCC_FLAGS  = -O2 -I. $(GENCODE) -Xcompiler -fPIC,-fno-exceptions,-fno-threadsafe-statics -MMD -MP
endif
# Kernels that nothing here runs take minutes.
CUDA_RUNS  := $(filter-out run,$(or $(MAKECMDGOALS),all))$(CUDA_HERE)$(filter-out undefined file,$(origin CUDA_ARCHS))
ifeq ($(CUDA_RUNS)$(CUDA_WHY_NOT),)
PLUGIN     :=
CUDA_WHY_NOT := no GPU of sm_75 or newer is visible, and make run builds what it runs; make all builds it
endif
# An nvcc that cannot build it is no reason to build nothing. It is tried once; another one builds all of it anew.
TOOLKIT_NOTE := $(BUILD)/cuda/toolkit
ifneq ($(if $(filter clean help,$(MAKECMDGOALS)),,$(PLUGIN)),)
TOOLKIT    := $(or $(realpath $(NVCC)),$(NVCC)) \
              $(shell $(NVCC) --version 2>/dev/null | tail -n 1 | tr -cd 'A-Za-z0-9._/ -')
ifneq ($(strip $(TOOLKIT)),$(strip $(shell cat $(TOOLKIT_NOTE) 2>/dev/null)))
CUDA_WHY_NOT := $(shell ci/nvcc-trial.sh '$(NVCC)' '$(CUDA_INCLUDE)' $(CC))
ifeq ($(CUDA_WHY_NOT),)
$(shell mkdir -p $(BUILD)/cuda; echo '$(TOOLKIT)' >$(TOOLKIT_NOTE))
else
PLUGIN     :=
$(warning no CUDA plug-in is built: $(CUDA_WHY_NOT))
endif
endif
endif
PLUGIN_O   := $(CUDA_CU:%.cu=$(BUILD)/cuda/%.cu.o) $(CUDA_C:%.c=$(BUILD)/cuda/%.o)

# ---- a GPU without a GPU: the plug-in's sources as C++ for the host, what tests/cuda_emulation opens ----
EMULATION_WHY_NOT := $(if $(shell command -v $(firstword $(CXX)) 2>/dev/null),,there is no C++ compiler $(CXX))
ifneq ($(VARIANT),release)
EMULATION_WHY_NOT := the sanitizers do not follow its fibers
endif
ifeq ($(EMULATION),no)
EMULATION_WHY_NOT := EMULATION=no was given
endif
ifneq ($(EMULATION_WHY_NOT),)
TEST_C     := $(filter-out tests/cuda_emulation/%,$(TEST_C))
endif
# Scripts and this file are the same whatever the program was compiled with, so that release alone tries them.
ifneq ($(VARIANT),release)
SCRIPT_C   := $(patsubst %,tests/ci/test_%.c,awks check_registers checks circles deb dist distributions gpu_build \
              gpu_script gpu_shell install_deps makefile makefile_toolkit reference run_tests strict truth_plan)
TEST_C     := $(filter-out $(SCRIPT_C),$(TEST_C))
endif
EMULATED   := $(BUILD)/tests/cuda_emulation/libassay_cuda.so
EMULATED_O := $(patsubst %,$(BUILD)/emulated/%.o,$(CUDA_CU) $(wildcard tests/cuda_emulation/emulated/*.cpp) \
              $(filter-out %/toolkit_library.c,$(CUDA_C)))
# Vectors of strided pairs are read beyond the last (gcc 12), and shared memory ends where nothing can be touched.
EMULATED_FLAGS := -O2 -g -fPIC -fno-math-errno -fno-tree-vectorize -I. -Itests/cuda_emulation/include -MMD -MP
# The same with kernels that tell every access of theirs to what looks for races; ASSAY_PLUGIN_DIR chooses it.
WATCHED    := $(BUILD)/tests/cuda_emulation/watched/libassay_cuda.so
WATCHED_O  := $(CUDA_CU:%=$(BUILD)/watched/%.o) $(filter-out %.cu.o,$(EMULATED_O)) \
              $(patsubst %,$(BUILD)/emulated/%.o,$(wildcard tests/cuda_emulation/watched/*.cpp))
# And with kernels that have races.
PLANTED    := $(BUILD)/tests/cuda_emulation/watched/libplanted.so
PLANTED_O  := $(patsubst %,$(BUILD)/watched/%.o,$(wildcard tests/cuda_emulation/planted/*.cu))
# The same kernels with somebody who asks of every access whether it may be, counts it, and interprets PTX.
CHECKED    := $(BUILD)/tests/cuda_emulation/checked/libassay_cuda.so
CHECKED_O  := $(patsubst %,$(BUILD)/watched/%.o,$(CUDA_CU) $(wildcard tests/cuda_emulation/checked/*.cu)) \
              $(filter-out %.cu.o,$(EMULATED_O)) \
              $(patsubst %,$(BUILD)/emulated/%.o,$(wildcard tests/cuda_emulation/checked/*.cpp))
CHECKED_WRAP := -Wl,--wrap=kernel_cuda_run,--wrap=cuda_matmul,--wrap=cuda_convolution
CHECKED_PTX  := $(BUILD)/emulated/tests/cuda_emulation/checked/tensor_core_ptx.h
TESTS      := $(TEST_C:%.c=$(BUILD)/%)

QUIET := $(or $(V),$(findstring s,$(firstword -$(MAKEFLAGS))))
say = $(if $(V),,@)$(if $(QUIET),,printf '  %-5s %s\n' $(1) $(2);)

# ---- build ----
.DEFAULT_GOAL := all
.PHONY: all tests test run bench gpu fuzz strict conformance check check-kernels help info install dist distcheck deb \
    clean FORCE
.DELETE_ON_ERROR:
.SECONDARY:

all: $(LIB) $(PROGRAM) $(PLUGIN) ## build the library, the program and, with nvcc, the CUDA plug-in

$(BUILD)/obj/%.o: %.c Makefile
	@mkdir -p $(@D)
	$(call say,CC,$<)$(CC) $(C_FLAGS) -c $< -o $@

$(call object,$(filter harness/kernels/% harness/device/%,$(LIB_C))): C_FLAGS += $(OPENMP)
# Square roots and multiply-adds become single vector instructions, and what is computed for a lane that is then not
# chosen may raise a flag that nobody reads, or loops with a choice in them would stay scalar. Nothing is reordered.
$(call object,$(filter harness/kernels/%,$(LIB_C))): C_FLAGS += -fno-math-errno -fno-trapping-math -ffp-contract=fast
$(call object,harness/load/element_cast.c): C_FLAGS += $(OPENMP) -fno-trapping-math
# Numbers of files are the same on every processor.
$(call object,harness/kernels/normal_fill.c): C_FLAGS += -ffp-contract=off
$(call object,$(wildcard harness/hub/*.c)): C_FLAGS += $(if $(CURL_WHY_NOT),-DASSAY_WITHOUT_CURL)
# Files that know the place of installation are compiled again when PREFIX changes.
PREFIX_NOTE := $(BUILD)/prefix
$(shell mkdir -p $(BUILD); echo '$(PREFIX)' | cmp -s - $(PREFIX_NOTE) || echo '$(PREFIX)' >$(PREFIX_NOTE))
$(call object,harness/cli/resource_path.c harness/device/plugin.c): $(PREFIX_NOTE)
# The state of the sources, as git says it; as the release archive says it (ci/dist.sh) if there is no repository, and
# as last built if git does not say (somebody else's repository, as in `sudo make install`). One object is compiled
# again when it changes.
REVISION_NOTE := $(BUILD)/revision
ifeq ($(origin REVISION),undefined)
REVISION   := $(if $(wildcard .git),$(or $(shell git describe --always --dirty 2>/dev/null | tr -cd 'A-Za-z0-9._/+-'),\
              $(shell cat $(REVISION_NOTE) 2>/dev/null)),\
              $(shell test ! -f REVISION || tr -cd 'A-Za-z0-9._/+-' <REVISION))
REVISION   := $(strip $(REVISION))
endif
$(shell mkdir -p $(BUILD); echo '$(REVISION)' | cmp -s - $(REVISION_NOTE) || echo '$(REVISION)' >$(REVISION_NOTE))
$(BUILD)/obj/harness/cli/program_revision.o: $(REVISION_NOTE)
$(BUILD)/obj/harness/cli/program_revision.o: C_FLAGS += -DASSAY_REVISION='"$(REVISION)"'
$(call object,$(CLI_C)): C_FLAGS += -DASSAY_DATADIR='"$(PREFIX)/share/assay"'
$(BUILD)/obj/harness/device/plugin.o: C_FLAGS += -DASSAY_LIBRARY_DIRECTORY='"$(PREFIX)/lib/assay"'

$(LIB): $(call object,$(LIB_C))
	@rm -f $@
	$(call say,AR,$@)$(AR) rcs $@ $^

$(BUILD)/assay: $(call object,$(CLI_C)) $(LIB)
	$(call say,LD,$@)$(CC) $(OPTIMISE) $(LDFLAGS) -o $@ $^ $(LDLIBS)

# What was built for other GPUs is built anew.
$(CUDA_NOTE): FORCE
	@mkdir -p $(@D)
	@echo '$(strip $(CUDA_ARCHS))' | cmp -s - $@ || echo '$(strip $(CUDA_ARCHS))' >$@

$(TOOLKIT_NOTE):
	@echo 'no CUDA plug-in can be built: $(CUDA_WHY_NOT)' >&2; exit 1

$(BUILD)/cuda/%.cu.o: %.cu $(CUDA_NOTE) $(TOOLKIT_NOTE)
	@mkdir -p $(@D)
	$(call say,NVCC,$<)$(NVCC) $(NVCC_FLAGS) -c $< -o $@

$(BUILD)/cuda/%.o: %.c $(TOOLKIT_NOTE)
	@mkdir -p $(@D)
	$(call say,CC,$<)$(CC) $(C_FLAGS) -fPIC -isystem $(CUDA_INCLUDE) -c $< -o $@

$(BUILD)/libassay_cuda.so: $(PLUGIN_O) ci/plugin.map
	$(call say,LD,$@)$(NVCC) -shared -cudart static -Xlinker --version-script=ci/plugin.map,--as-needed,--no-undefined \
	    -o $@ $(PLUGIN_O) -ldl -lm

# kernel<<<grid, block>>>(arguments) becomes a call; the shared memory whose size the launch gives becomes a pointer,
# a variable in shared memory a reference to its place.
$(BUILD)/emulated/%.cu.cpp: %.cu Makefile
	@mkdir -p $(@D)
	@{ echo '#line 1 "$<"'; sed -E \
	    -e 's/([A-Za-z_][][A-Za-z_0-9.]*(<[a-z0-9_]+>)?)<<<(.*)>>>\(/emulation_launch(\3).run(\1, /' \
	    -e 's/extern __shared__ (__align__\(16\) )?float ([a-z]+)\[\];/float *\2 = (float *)emulation_shared_memory();/' \
	    -e 's/__shared__ ([^;]*[ *])([a-z_]+)((\[[^]]*\])*);/emulation_shared(\2, \1\3);/' \
	    $<; } > $@

$(BUILD)/emulated/%.cu.o: $(BUILD)/emulated/%.cu.cpp
	$(call say,CXX,$*.cu)$(CXX) -std=c++17 $(EMULATED_FLAGS) -D__CUDACC__ -include cuda_runtime.h -c $< -o $@

# The sanitizers call functions before each access; no library of theirs is linked. What nvcc loads as a whole is not
# taken apart, where the compiler knows how to leave it.
WATCHED_FLAGS = -fsanitize=thread,alignment \
                $(shell $(CXX) -fno-tree-sra -fsyntax-only -x c++ /dev/null 2>/dev/null && echo -fno-tree-sra)
$(BUILD)/watched/%.cu.o: $(BUILD)/emulated/%.cu.cpp
	@mkdir -p $(@D)
	$(call say,CXX,$*.cu)$(CXX) -std=c++17 $(EMULATED_FLAGS) -I$(BUILD)/emulated $(WATCHED_FLAGS) \
	    -D__CUDACC__ -include cuda_runtime.h -c $< -o $@

$(BUILD)/emulated/%.cpp.o: %.cpp
	@mkdir -p $(@D)
	$(call say,CXX,$<)$(CXX) -std=c++17 $(EMULATED_FLAGS) -Wall -Wextra -c $< -o $@

$(BUILD)/emulated/%.c.o: %.c
	@mkdir -p $(@D)
	$(call say,CC,$<)$(CC) $(CSTD) $(EMULATED_FLAGS) -c $< -o $@

$(EMULATED): $(EMULATED_O) ci/plugin.map
	@mkdir -p $(@D)
	$(call say,LD,$@)$(CXX) -shared -Wl,--version-script=ci/plugin.map,--no-undefined -o $@ $(EMULATED_O) -ldl -lm

$(WATCHED): $(WATCHED_O) ci/plugin.map
	@mkdir -p $(@D)
	$(call say,LD,$@)$(CXX) -shared -Wl,--version-script=ci/plugin.map,--no-undefined -o $@ $(WATCHED_O) -ldl -lm

$(PLANTED): $(PLANTED_O) $(WATCHED_O)
	@mkdir -p $(@D)
	$(call say,LD,$@)$(CXX) -shared -Wl,--no-undefined -o $@ $^ -ldl -lm

# asm volatile("text" : "=r"(a) : "r"(b) : "memory") becomes a call that interprets the text.
$(CHECKED_PTX): harness/kernels/tensor_core.h Makefile
	@mkdir -p $(@D)
	@sed -E -e 's/asm( volatile)?\(/ptx_evaluate(/' -e 's/ ?:+ ?"/, "/g' \
	    -e 's/"([=+]?[a-z])"\(/ptx_of("\1", /g' $< >$@

$(BUILD)/watched/tests/cuda_emulation/checked/ptx_compare.cu.o: $(CHECKED_PTX)

$(CHECKED): $(CHECKED_O) ci/plugin.map
	@mkdir -p $(@D)
	$(call say,LD,$@)$(CXX) -shared -Wl,--version-script=ci/plugin.map,--no-undefined $(CHECKED_WRAP) \
	    -o $@ $(CHECKED_O) -ldl -lm

# ---- tests: one program a file ----
HELPERS_ALSO_kernels        := tests/bench/kernel_case.c tests/bench/product_case.c tests/bench/model_case.c \
                               tests/bench/model_device.c
HELPERS_ALSO_case           := tests/report/records_fixture.c
HELPERS_ALSO_cli            := tests/models/model_folder.c tests/load/checkpoint_files.c tests/history/history_fixture.c
HELPERS_ALSO_load           := tests/replay/counting_device.c tests/models/model_folder.c
HELPERS_ALSO_question       := tests/models/remembering_device.c
HELPERS_ALSO_tape           := tests/models/shadow_lines.c
HELPERS_ALSO_conformance    := tests/kernels/% tests/models/%
HELPERS_ALSO_cuda_emulation := tests/ci/% tests/kernels/% tests/conformance/% tests/run/% tests/models/%
NEEDS_ALSO_cuda_emulation   := $(EMULATED)
define test_program
$(BUILD)/$(1:%.c=%): $(call object,$(1) $(filter $(dir $(1))% tests/support/% \
    $(HELPERS_ALSO_$(notdir $(patsubst %/,%,$(dir $(1))))),$(HELPER_C))) $(LIB) | \
    $(NEEDS_ALSO_$(notdir $(patsubst %/,%,$(dir $(1)))))
	@mkdir -p $$(@D)
	$$(call say,LD,$$@)$$(CC) $$(OPTIMISE) $$(LDFLAGS) -o $$@ $$^ -lcmocka $$(LDLIBS)
endef
$(foreach t,$(TEST_C),$(eval $(call test_program,$(t))))
$(addprefix $(BUILD)/tests/cuda_emulation/test_emulated_,races schedules): | $(WATCHED) $(PLANTED)
# The real libraries are held against NVIDIA's headers where these are here, which needs no compiler for GPUs, else
# against those of the emulation.
CUDA_HEADERS := $(wildcard $(or $(CUDA_HOME),/usr/local/cuda)/include/cublasLt.h)
CUDA_HEADERS := $(CUDA_HEADERS:%/cublasLt.h=%)
CUDA_LIBRARIES_C := $(filter-out %/emulated_constants.c,$(wildcard tests/cuda_libraries/*.c))
$(call object,$(CUDA_LIBRARIES_C)): C_FLAGS += $(if $(CUDA_HEADERS),-DHAS_NVIDIA_HEADERS -isystem $(CUDA_HEADERS), \
    -Itests/cuda_emulation/include)
$(call object,tests/cuda_libraries/emulated_constants.c): C_FLAGS += -Itests/cuda_emulation/include
$(filter $(BUILD)/tests/cuda_emulation/test_checked_%,$(TESTS)): | $(CHECKED)
# Its own allocations fail when it wants them to, and no library's.
$(BUILD)/tests/base/test_array: LDFLAGS += -Wl,--wrap=realloc,--wrap=calloc
$(BUILD)/tests/kernels/test_scratch_fault: LDFLAGS += -Wl,--wrap=malloc,--wrap=calloc,--wrap=aligned_alloc

BENCH_C := $(wildcard tests/bench/*.c) tests/support/record_multiplier.c tests/support/scratch_folder.c
$(call object,$(BENCH_C)): C_FLAGS += $(OPENMP)
$(BUILD)/tests/bench/bench: $(call object,$(BENCH_C)) $(LIB)
	@mkdir -p $(@D)
	$(call say,LD,$@)$(CC) $(OPTIMISE) $(LDFLAGS) -o $@ $^ $(LDLIBS)

# What ci/mutate.sh asks about a plug-in.
JUDGE   := $(BUILD)/tests/mutants/judge
$(JUDGE): $(call object,$(filter tests/conformance/% tests/kernels/% tests/models/% tests/mutants/% \
    tests/support/%,$(HELPER_C))) $(LIB)
	@mkdir -p $(@D)
	$(call say,LD,$@)$(CC) $(OPTIMISE) $(LDFLAGS) -o $@ $^ -lcmocka $(LDLIBS)

# And ci/strict.sh.
STRICT  := $(BUILD)/tests/strict/strict
$(STRICT): $(call object,tests/strict/strict.c $(filter tests/conformance/% tests/kernels/% tests/models/% \
    tests/support/%,$(HELPER_C))) $(LIB)
	@mkdir -p $(@D)
	$(call say,LD,$@)$(CC) $(OPTIMISE) $(LDFLAGS) -o $@ $^ -lcmocka $(LDLIBS)

tests: $(TESTS) ## build the test programs without running them

# Only those that are there, and nothing makes them but compilers: looking for rules took most of the time of make.
-include $(wildcard $(patsubst %.c,$(BUILD)/obj/%.d,$(LIB_C) $(CLI_C) $(TEST_C) $(HELPER_C)) $(PLUGIN_O:.o=.d) \
    $(sort $(EMULATED_O:.o=.d) $(WATCHED_O:.o=.d) $(PLANTED_O:.o=.d) $(CHECKED_O:.o=.d)))
%.d: ;

# ---- fuzz: readers of foreign files under libFuzzer and, if it is installed, AFL++ (tests/fuzz/README.md) ----
FUZZ_TARGETS := config safetensors gguf yaml json_scan records offload pickle
FUZZ_CC      ?= clang
FUZZ_AFL_CC  ?= $(shell command -v afl-clang-fast 2>/dev/null)
FUZZ_C       := $(wildcard tests/fuzz/fuzz_*.c) tests/support/memory_source.c
FUZZ_FLAGS   := $(CSTD) -O1 -g -fno-omit-frame-pointer -MMD -MP
FUZZ_SAN     := -fsanitize=address,undefined -fno-sanitize-recover=all
# $(1): the folder, $(2): the compiler, $(3): flags of all, $(4): flags of the program.
define fuzz_build
$(BUILD)/fuzz/$(1)/obj/%.o: %.c Makefile
	@mkdir -p $$(@D)
	$$(call say,FUZZ,$$<)$(2) $$(FUZZ_FLAGS) $(3) -c $$< -o $$@
$(BUILD)/fuzz/$(1)/libassay.a: $(LIB_C:%.c=$(BUILD)/fuzz/$(1)/obj/%.o)
	@rm -f $$@
	$$(call say,AR,$$@)$$(AR) rcs $$@ $$^
$(BUILD)/fuzz/$(1)/fuzz_%: tests/fuzz/driver/entry.c $(FUZZ_C:%.c=$(BUILD)/fuzz/$(1)/obj/%.o) \
                            $(BUILD)/fuzz/$(1)/libassay.a
	$$(call say,LD,$$@)$(2) $(CSTD) -g $(3) $(4) -DFUZZ_TARGET=fuzz_$$* -o $$@ $$^ $(filter-out -fopenmp,$(LDLIBS))
endef
$(eval $(call fuzz_build,libfuzzer,$(FUZZ_CC),-fsanitize=fuzzer-no-link $(FUZZ_SAN),-fsanitize=fuzzer))
$(eval $(call fuzz_build,afl,AFL_QUIET=1 $(FUZZ_AFL_CC),$(FUZZ_SAN),-fsanitize=fuzzer))
-include $(wildcard $(BUILD)/fuzz/*/obj/*/*.d $(BUILD)/fuzz/*/obj/*/*/*.d)

# ---- what people and CI call ----
test: all tests ## install what is missing, build, run every test
	$(if $(EMULATION_WHY_NOT),@echo "skip tests/cuda_emulation: $(EMULATION_WHY_NOT)")
	$(if $(SCRIPT_C),@echo "skip $(words $(SCRIPT_C)) programs of tests/ci: make test without VARIANT=san runs them")
	@ASSAY_PROGRAM=$(BUILD)/assay ci/run-tests.sh $(BUILD) $(TESTS)

run: all ## install what is missing, build, measure suites/quick.yaml and compare
	@$(BUILD)/assay run suites/quick.yaml --device auto --out results/quick

bench: ## print a table of times and rates beside their limits (DEVICE=cuda:0, PYTHON=one with torch)
bench: $(PROGRAM) $(BUILD)/tests/bench/bench
	@OMP_WAIT_POLICY=passive $(BUILD)/tests/bench/bench --device $(DEVICE) --python $(PYTHON) $(BENCH_OPTIONS) $(PROGRAM) \
	    || test $$? -eq 77

GPU_OUT ?= results/gpu
gpu: ## run all that needs a GPU, in eight minutes (SLICE=tests|suites|peers, GPU_OUT=DIR, NEED_GPU=1; docs/GPU.md)
	@ci/gpu.sh --out "$(GPU_OUT)" --python "$(PYTHON)" $(if $(SLICE),--slice $(SLICE)) $(if $(NEED_GPU),--need-gpu) \
	    $(addprefix --device ,$(filter cuda:%,$(DEVICE))) $(GPU_OPTIONS) || \
	    { status=$$?; [ $$status -eq 77 ] || exit $$status; }

strict: ## run every operation on an emulated GPU that is stricter than a real one (STRICT_OPTIONS="--seconds 180")
strict: $(if $(EMULATION_WHY_NOT),,$(PROGRAM) $(STRICT) $(EMULATED) $(WATCHED) $(CHECKED) \
        $(filter $(BUILD)/tests/cuda_emulation/test_emulated_%,$(TESTS)))
	$(if $(EMULATION_WHY_NOT),@echo "skip: $(EMULATION_WHY_NOT)",@ci/strict.sh $(STRICT_OPTIONS) $(BUILD))

CONFORMANCE := $(filter %/test_conformance %/test_emulated_conformance,$(TESTS))
fuzz: ## build the fuzz targets for libFuzzer (clang) and AFL++ (if it is there)
fuzz: $(FUZZ_TARGETS:%=$(BUILD)/fuzz/libfuzzer/fuzz_%) \
      $(if $(FUZZ_AFL_CC),$(FUZZ_TARGETS:%=$(BUILD)/fuzz/afl/fuzz_%))
	$(if $(FUZZ_AFL_CC),,@echo "no AFL++ targets: afl-clang-fast is not on PATH; install afl++")

conformance: ## print, for each device, the worst error of every operation in every dtype, and what is untested
conformance: $(PLUGIN) $(CONFORMANCE)
	@status=0; for program in $(CONFORMANCE); do OMP_WAIT_POLICY=passive $$program --table || status=1; done; exit $$status

check: ## check warnings with gcc and clang, cppcheck, format, include direction, circles, lengths
	@ci/check-all.sh

check-kernels: ## check that CUDA kernels can be launched everywhere and keep no registers in memory (needs nvcc)
	@ci/check-kernels.sh; status=$$?; [ $$status -eq 77 ] || exit $$status
	@ci/check-registers.sh . $(BUILD)/registers; status=$$?; [ $$status -eq 77 ] || exit $$status

info: ## say what was detected, what will be built, and why not
	@echo "compiler        $(CC): $(shell $(CC) --version 2>/dev/null | head -n 1)"
	@echo "variant         $(VARIANT), in $(BUILD)/ ($(OPTIMISE))"
	@echo "OpenMP          $(or $(OPENMP),no: $(CC) does not take -fopenmp. Host kernels run on one core.)"
	@for header in hwloc.h jansson.h yaml.h sqlite3.h cmocka.h; do \
	    printf '%-15s ' "$$header"; \
	    printf '#include <%s>\n' stdarg.h stddef.h stdint.h setjmp.h "$$header" \
	        | $(CC) -fsyntax-only -x c - 2>/dev/null && echo found || echo "missing: run ci/install-deps.sh"; done
	@printf '%-15s ' OpenBLAS; { ldconfig -p 2>/dev/null || /sbin/ldconfig -p; } | grep -q 'libopenblas\.so\.0' \
	    && echo "found (opened at run time)" || echo "missing: the host device cannot multiply; run ci/install-deps.sh"
	@echo "libcurl         $(if $(CURL_WHY_NOT),no: $(CURL_WHY_NOT). Models are not looked for on the hub.,found \
(opened at run time))"
	@printf '%-15s ' gnuplot; command -v gnuplot || echo "missing: reports have no plots; run ci/install-deps.sh"
	@echo "library         $(LIB): $(words $(LIB_C)) sources"
	@echo "program         $(or $(PROGRAM),no: there are no sources in harness/cli)"
	@echo "CUDA plug-in    $(if $(PLUGIN),$(PLUGIN) by $(NVCC) for $(CUDA_ARCHS:%=sm_%),no: $(CUDA_WHY_NOT))"
	@echo "test programs   $(words $(TESTS))$(if $(EMULATION_WHY_NOT),; without tests/cuda_emulation: \
$(EMULATION_WHY_NOT))"

install: all ## install into DESTDIR/PREFIX (/usr/local)
	install -d $(DESTDIR)$(PREFIX)/bin $(DESTDIR)$(PREFIX)/share/assay $(DESTDIR)$(PREFIX)/share/doc/assay
	install -m 755 $(BUILD)/assay $(DESTDIR)$(PREFIX)/bin/assay
	$(if $(PLUGIN),install -d $(DESTDIR)$(PREFIX)/lib/assay)
	$(if $(PLUGIN),install -m 644 $(PLUGIN) $(DESTDIR)$(PREFIX)/lib/assay/)
	for file in $$(find models/catalogue suites plots completions -type f) \
	    $(wildcard results/reference/*/constants.json) \
	    $(addprefix peers/pytorch/,truth_records.py own_program.py whole_file.py); do \
	    install -D -m 644 "$$file" "$(DESTDIR)$(PREFIX)/share/assay/$$file" || exit 1; done
	install -m 644 LICENSE $(DESTDIR)$(PREFIX)/share/doc/assay
	for file in README.md CHANGELOG.md ci/policy.yaml $$(find docs ci/workflows ci/containers ci/kubernetes -type f); do \
	    install -D -m 644 "$$file" "$(DESTDIR)$(PREFIX)/share/doc/assay/$$file" || exit 1; done
	rm -rf $(BUILD)/man && $(BUILD)/assay man --to $(BUILD)/man
	install -d $(DESTDIR)$(PREFIX)/share/man/man1
	install -m 644 $(BUILD)/man/*.1 $(DESTDIR)$(PREFIX)/share/man/man1/
	install -D -m 644 completions/assay.bash $(DESTDIR)$(PREFIX)/share/bash-completion/completions/assay
	install -D -m 644 completions/_assay $(DESTDIR)$(PREFIX)/share/zsh/site-functions/_assay
	install -D -m 644 completions/assay.fish $(DESTDIR)$(PREFIX)/share/fish/vendor_completions.d/assay.fish

DIST_OUT ?= $(BUILD)/dist
dist: ## make a release archive, which builds without git (DIST_OUT=build/dist)
	@ci/dist.sh "$(DIST_OUT)"

distcheck: ## make one twice, build it where there is no git, and run a few tests there
	@ci/dist-check.sh "$(DIST_OUT)"

deb: ## make a package for the Debian or Ubuntu that this is (DIST_OUT=build/dist)
	@rm -rf $(BUILD)/deb
	@MAKEFLAGS= $(MAKE) -s install $(MAKEOVERRIDES) PREFIX=/usr DESTDIR="$(abspath $(BUILD))/deb" >/dev/null
	@ci/deb.sh $(BUILD)/deb "$(DIST_OUT)"

clean: ## remove everything that was built
	rm -rf build

help: ## this list
	@echo "make [TARGET] [VARIANT=release|san] [V=1] [CUDA=no] [EMULATION=no] [CURL=no] [CUDA_ARCHS=\"90 120\"]" \
	    "[WERROR=1] [PREFIX=... DESTDIR=...] [DEVICE=... PYTHON=... SLICE=... GPU_OUT=...]"
	@sed -n 's/^\([a-z-]*\):.* ## \(.*\)/\1\t\2/p' $(firstword $(MAKEFILE_LIST)) | \
	    while IFS="$$(printf '\t')" read -r t d; do \
	    printf '  make %-13s %s\n' "$$t" "$$d"; done
