#include "strata/core/process/build_id.h"

#include <link.h>

#include <cstring>
#include <span>

namespace strata {
namespace {

constexpr size_t align4(size_t n) { return (n + 3) & ~size_t{3}; }

/// The description of the note NT_GNU_BUILD_ID among these notes.
std::string id_in(const char* notes, size_t size) {
    while (size >= sizeof(ElfW(Nhdr))) {
        ElfW(Nhdr) header;
        std::memcpy(&header, notes, sizeof header);
        const size_t name = sizeof header, text = name + align4(header.n_namesz), end = text + align4(header.n_descsz);
        if (end > size) break;
        if (header.n_type == NT_GNU_BUILD_ID && header.n_namesz == 4 && std::memcmp(notes + name, "GNU", 4) == 0)
            return {notes + text, header.n_descsz};
        notes += end, size -= end;
    }
    return {};
}

int look_into(dl_phdr_info* object, size_t, void* found) {
    const auto here = reinterpret_cast<ElfW(Addr)>(&build_id);
    bool holds_this = false;
    std::string id;
    for (const ElfW(Phdr) & part : std::span(object->dlpi_phdr, object->dlpi_phnum)) {
        const ElfW(Addr) start = object->dlpi_addr + part.p_vaddr;
        if (part.p_type == PT_LOAD && here >= start && here - start < part.p_memsz) holds_this = true;
        if (part.p_type == PT_NOTE && id.empty()) id = id_in(reinterpret_cast<const char*>(start), part.p_filesz);
    }
    if (holds_this) *static_cast<std::string*>(found) = id;
    return holds_this;
}

}  // namespace

const std::string& build_id() {
    static const std::string id = [] {
        std::string found;
        dl_iterate_phdr(look_into, &found);
        return found;
    }();
    return id;
}

}  // namespace strata
