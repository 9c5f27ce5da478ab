#pragma once
#include <stddef.h>

// The C interface of the in-process compiler: the plugin is loaded with dlopen, so that nothing else needs LLVM to
// build, link or start.
extern "C" {

enum { strata_clang_interface = 1 };  ///< value of `const int strata_clang_version`

enum { strata_clang_ok = 0, strata_clang_error = 1, strata_clang_unusable = 2 };

typedef void (*StrataClangAppend)(void* text, const char* bytes, size_t size);

/// `const int strata_clang_compile(...)`: compiles HIP text with the arguments of `clang -cc1`, less input and output,
/// to a relocatable object. Safe to call from many threads at once. `unusable`: the compiler failed in a way that says
/// nothing about the source; try another route.
typedef int (*StrataClangCompile)(const char* const* args, size_t arg_count, const char* source, size_t source_size,
                                  StrataClangAppend append, void* object, void* log);
}
