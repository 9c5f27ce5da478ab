// libFuzzer's entry for the reader of code objects: whatever the bytes, parsing ends with an object or an error.
#include <cstdint>
#include <cstdlib>

#include "strata/asm/object/code_object.h"
#include "strata/asm/object/line_table.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    using namespace strata::isa;
    using strata::Result;
    const std::span bytes(data, size);
    if (Result<CodeObject> object = CodeObject::parse(Bytes(bytes.begin(), bytes.end()))) {
        for (const KernelInfo& kernel : object->kernels)
            if (object->find(kernel.name) == nullptr) std::abort();
        if (Result<LineTable> lines = LineTable::read(*object))
            for (const Symbol& symbol : object->symbols) lines->find(symbol.address);
    }
    // A linked object must be one that the reader takes.
    if (Result<Bytes> linked = link_relocatable(bytes)) (void)CodeObject::parse(std::move(*linked));
    return 0;
}
