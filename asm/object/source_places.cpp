// source_places: a section that gives the lines of a listing their places in another source.
#include <algorithm>
#include <cstring>

#include "strata/asm/object/byte_reader_p.h"
#include "strata/asm/object/elf_view_p.h"
#include "strata/asm/object/source_places_p.h"

namespace strata::isa {
namespace {

using elf::damaged;
using elf::ElfView;

template <class T>
void put(Bytes& to, const T& value) {
    const auto* bytes = reinterpret_cast<const uint8_t*>(&value);
    to.insert(to.end(), bytes, bytes + sizeof value);
}
void put_text(Bytes& to, std::string_view text) {
    to.insert(to.end(), text.begin(), text.end());
    to.push_back(0);
}
void align(Bytes& to) { to.resize((to.size() + 7) / 8 * 8); }

Bytes written(const SourcePlaces& places) {
    Bytes out;
    put_text(out, places.listing);
    put(out, static_cast<uint32_t>(places.of_line.size()));
    for (const uint32_t line : places.of_line) put(out, line);
    put(out, static_cast<uint32_t>(places.places.size()));
    for (const SourceLine& place : places.places) {
        for (const uint32_t number : {place.line, place.column, place.end_column}) put(out, number);
        put_text(out, place.file);
        put_text(out, place.text);
    }
    return out;
}

}  // namespace

Result<SourcePlaces> read_places(std::span<const uint8_t> bytes) {
    ByteReader in(bytes);
    SourcePlaces out;
    out.listing = in.string();
    for (uint32_t left = in.fixed<uint32_t>(); left && !in.failed(); --left)
        out.of_line.push_back(in.fixed<uint32_t>());
    for (uint32_t left = in.fixed<uint32_t>(); left && !in.failed(); --left) {
        SourceLine place;
        for (uint32_t* number : {&place.line, &place.column, &place.end_column}) *number = in.fixed<uint32_t>();
        place.file = in.string();
        place.text = in.string();
        out.places.push_back(std::move(place));
    }
    if (in.failed()) return damaged("{} ends inside an entry", kPlacesSection);
    for (const uint32_t place : out.of_line)
        if (place > out.places.size())
            return damaged("{} names place {} of {}", kPlacesSection, place, out.places.size());
    return out;
}

/// The tables of sections and of their names are written again at the end; the rest of the file stays as it is.
Result<Bytes> with_places(std::span<const uint8_t> object, const SourcePlaces& places) {
    STRATA_TRY(const ElfView view, ElfView::open(object, ET_DYN));
    std::vector<Elf64_Shdr> sections(view.sections().begin(), view.sections().end());
    const size_t names = view.header().e_shstrndx;
    if (names >= sections.size()) return damaged("it has no names of sections");
    STRATA_TRY(const std::span<const uint8_t> old_names, view.contents(sections[names]));
    Bytes out(object.begin(), object.end());
    Elf64_Shdr added{};
    added.sh_name = static_cast<uint32_t>(old_names.size());
    added.sh_type = SHT_PROGBITS;
    added.sh_addralign = 1;
    const Bytes content = written(places);
    align(out);
    added.sh_offset = out.size(), added.sh_size = content.size();
    out.insert(out.end(), content.begin(), content.end());
    align(out);
    sections[names].sh_offset = out.size();
    out.insert(out.end(), old_names.begin(), old_names.end());
    put_text(out, kPlacesSection);
    sections[names].sh_size = out.size() - sections[names].sh_offset;
    sections.push_back(added);
    align(out);
    Elf64_Ehdr header = view.header();
    header.e_shoff = out.size();
    header.e_shnum = static_cast<uint16_t>(sections.size());
    for (const Elf64_Shdr& section : sections) put(out, section);
    std::memcpy(out.data(), &header, sizeof header);
    return out;
}

bool same_but_for_places(const CodeObject& a, const CodeObject& b) {
    if (a.for_nvidia || b.for_nvidia) return a.image == b.image;
    const auto loaded = [](const CodeObject& object, const Segment& segment) {  // but for the header of the file
        const bool has_header = segment.bytes.data() == object.image.data();
        return segment.bytes.subspan(has_header ? std::min(sizeof(Elf64_Ehdr), segment.bytes.size()) : 0);
    };
    return a.arch == b.arch && std::ranges::equal(a.segments, b.segments, [&](const Segment& one, const Segment& two) {
               return one.address == two.address && one.memory_size == two.memory_size &&
                      std::ranges::equal(loaded(a, one), loaded(b, two));
           });
}

}  // namespace strata::isa
