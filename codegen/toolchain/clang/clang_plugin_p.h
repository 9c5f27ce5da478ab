#pragma once
#include <stddef.h>

// The C interface of the in-process compiler: the plugin is loaded with dlopen, so that nothing else needs LLVM to
// build, link or start.
extern "C" {

enum { strata_clang_interface = 3 };  ///< value of `const int strata_clang_version`

enum { strata_clang_ok = 0, strata_clang_error = 1, strata_clang_unusable = 2, strata_clang_stopped = 3 };

typedef void (*StrataClangAppend)(void* text, const char* bytes, size_t size);
/// Asked every few milliseconds with `context`; not 0: the caller waits no longer.
typedef int (*StrataClangWantsStop)(void* context);

/// `const int strata_clang_compile(...)`: compiles HIP text with the arguments of `clang -cc1`, less input and output,
/// to a relocatable object. Safe to call from many threads at once. `unusable`: the compiler failed in a way that says
/// nothing about the source; try another route. `stopped`: wants_stop said so. LLVM cannot be halted. It compiles on,
/// on a thread of its own, for nobody. `void strata_clang_finish()` waits for that, and so does the end of the process.
typedef int (*StrataClangCompile)(const char* const* args, size_t arg_count, const char* source, size_t source_size,
                                  StrataClangAppend append, void* object, void* log, StrataClangWantsStop wants_stop,
                                  void* context);
typedef void (*StrataClangFinish)();
}
