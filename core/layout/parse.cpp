#include <cctype>
#include <charconv>

#include "strata/core/layout/composed.h"
#include "strata/core/layout/layout_error.h"

// layout  := atom [ "o" tuple "o" layout ]
// atom    := "[" layout "]" | "S<" n "," n "," n ">" | "C<" n "," n "," path "," n "," path ">" | tuple [ ":" tuple ]
// tuple   := n [ path ] | path | "*" | "(" [ tuple { "," tuple } [ "," ] ] ")"
// path    := "E" n { "E" n }

namespace strata::layout {
namespace {

class Parser {
  public:
    explicit Parser(std::string_view text) : text_(text) {}

    AnyLayout layout(int depth = 0) {
        if (depth > kMostDepth) fail("brackets stand in each other too deep");
        AnyLayout inner = atom(depth);
        if (!take('o')) return inner;
        const IntTuple offset = tuple();
        expect('o');
        return make_composed_layout(inner, offset, layout(depth + 1));
    }
    IntTuple tuple(int depth = 0) {
        if (depth > kMostDepth) fail("tuples stand in each other too deep");
        if (take('*')) return IntTuple::none();
        if (at('E')) return IntTuple::basis(1, path());
        if (!take('(')) {
            const int64_t value = number();
            return at('E') ? IntTuple::basis(value, path()) : IntTuple(value);
        }
        std::vector<IntTuple> modes;
        while (!take(')')) {
            modes.push_back(tuple(depth + 1));
            if (modes.size() == 1 && take(')')) return modes[0];  // (4) is 4, (4,) a tuple
            if (!at(')')) expect(',');
        }
        return modes;
    }
    void end() {
        if (skip_spaces(); place_ < text_.size()) fail("the text goes on");
    }

  private:
    AnyLayout atom(int depth) {
        if (take('[')) {
            AnyLayout inside = layout(depth + 1);
            expect(']');
            return inside;
        }
        if (take('S')) {
            expect('<');
            const int bits = small();
            expect(',');
            const int base = small();
            expect(',');
            const int shift = small();
            expect('>');
            return Swizzle(bits, base, shift);
        }
        if (take('C')) return coord_swizzle();
        IntTuple shape = tuple();
        return take(':') ? Layout(std::move(shape), tuple()) : Layout(std::move(shape));
    }
    CoordSwizzle coord_swizzle() {
        expect('<');
        const int bits = small();
        expect(',');
        const int base_row = small();
        expect(',');
        Path row = path();
        expect(',');
        const int base_column = small();
        expect(',');
        Path column = path();
        expect('>');
        return {bits, base_row, std::move(row), base_column, std::move(column)};
    }
    Path path() {
        Path out;
        do {
            expect('E');
            out.push_back(small());
        } while (at('E'));
        return out;
    }
    template <class T>
    T read() {
        skip_spaces();
        T value = 0;
        const auto [end, error] = std::from_chars(text_.data() + place_, text_.data() + text_.size(), value);
        if (error == std::errc::result_out_of_range) fail("a number that does not fit");
        if (error != std::errc()) fail("a number is wanted");
        place_ = static_cast<size_t>(end - text_.data());
        return value;
    }
    int64_t number() { return read<int64_t>(); }
    int small() { return read<int>(); }
    void skip_spaces() {
        while (place_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[place_]))) ++place_;
    }
    bool at(char c) {
        skip_spaces();
        return place_ < text_.size() && text_[place_] == c;
    }
    bool take(char c) {
        if (!at(c)) return false;
        ++place_;
        return true;
    }
    void expect(char c) {
        if (!take(c)) fail(fmt::format("'{}' is wanted", c));
    }
    [[noreturn]] void fail(std::string_view what) {
        throw LayoutError("parse", "", {"'" + std::string(text_) + "'"},
                          fmt::format("column {}: {}", place_ + 1, what));
    }

    std::string_view text_;
    size_t place_ = 0;
};

}  // namespace

AnyLayout parse_layout(std::string_view text) {
    Parser parser(text);
    AnyLayout out = parser.layout();
    parser.end();
    return out;
}

Layout layout_of(std::string_view text) {
    AnyLayout parsed = parse_layout(text);
    if (auto* layout = std::get_if<Layout>(&parsed)) return std::move(*layout);
    throw LayoutError("parse", "", {"'" + std::string(text) + "'"}, "it is no layout of a shape and strides alone");
}

}  // namespace strata::layout
