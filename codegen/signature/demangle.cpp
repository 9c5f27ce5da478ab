// Symbols as C++ writes them, by LLVM's demangler. That of the host's C++ library may be older than the types of HIP
// (_Float16 is DF16_). Without LLVM's library the host's has to do.
#include <cxxabi.h>
#include <dlfcn.h>

#include <cstdlib>
#include <string_view>

#include "strata/codegen/signature/parameters.h"

namespace strata::codegen {
namespace {

using Demangle = char* (*)(std::string_view symbol, bool parse_parameters);

Demangle find_demangler() {
    constexpr const char* kFunction = "_ZN4llvm15itaniumDemangleESt17basic_string_viewIcSt11char_traitsIcEEb";
    for (const char* name : {"libLLVM.so.19.1", "/usr/lib/llvm-19/lib/libLLVM.so.19.1"})
        if (void* library = dlopen(name, RTLD_LAZY | RTLD_LOCAL))
            return reinterpret_cast<Demangle>(dlsym(library, kFunction));
    return nullptr;
}

}  // namespace

std::string demangled(const std::string& symbol) {
    if (!symbol.starts_with("_Z")) return symbol;  // "a" is a kernel's name, and the mangled form of signed char
    static const Demangle by_llvm = find_demangler();
    int status = 0;
    char* text = by_llvm ? by_llvm(symbol, true) : abi::__cxa_demangle(symbol.c_str(), nullptr, nullptr, &status);
    std::string name = text ? text : symbol;
    std::free(text);
    return name;
}

}  // namespace strata::codegen
