#include "strata/asm/object/msgpack_p.h"

#include "strata/asm/object/elf_view_p.h"
#include "strata/core/support/utf8.h"

namespace strata::isa::msgpack {
namespace {

constexpr int kMaxDepth = 16;  // the metadata format nests five deep

class Reader {
  public:
    explicit Reader(std::span<const uint8_t> bytes) : bytes_(bytes) {}

    Result<Value> value(int depth) {
        if (depth > kMaxDepth) return fail("values nest too deep");
        STRATA_TRY(uint64_t head, number(1));
        if (head < 0x80) return Value(head);
        if (head < 0x90) return map(head & 15, depth);
        if (head < 0xa0) return array(head & 15, depth);
        if (head < 0xc0) return string(head & 31);
        if (head >= 0xe0) return Value(static_cast<int>(head) - 256);
        switch (head) {
            case 0xc0: return Value();
            case 0xc2: return Value(false);
            case 0xc3: return Value(true);
            case 0xcc:
            case 0xcd:
            case 0xce:
            case 0xcf: return integer(1u << (head - 0xcc), false);
            case 0xd0:
            case 0xd1:
            case 0xd2:
            case 0xd3: return integer(1u << (head - 0xd0), true);
            case 0xd9:
            case 0xda:
            case 0xdb: return counted(1u << (head - 0xd9), &Reader::string_of);
            case 0xdc:
            case 0xdd: return counted(2u << (head - 0xdc), &Reader::array, depth);
            case 0xde:
            case 0xdf: return counted(2u << (head - 0xde), &Reader::map, depth);
        }
        return fail("a value of an unknown kind");
    }

    bool done() const { return at_ == bytes_.size(); }
    Error fail(std::string_view what) const { return elf::damaged("metadata, byte {}: {}", at_, what); }

  private:
    /// A big-endian number of `size` bytes.
    Result<uint64_t> number(size_t size) {
        if (bytes_.size() - at_ < size) return fail("the data ends inside a value");
        uint64_t result = 0;
        for (size_t i = 0; i < size; ++i) result = result << 8 | bytes_[at_++];
        return result;
    }

    Result<Value> integer(size_t size, bool is_signed) {
        STRATA_TRY(uint64_t raw, number(size));
        const int unused = 64 - 8 * static_cast<int>(size);
        if (is_signed) raw = static_cast<uint64_t>(static_cast<int64_t>(raw << unused) >> unused);
        return Value(raw);
    }

    Result<Value> counted(size_t size, Result<Value> (Reader::*read)(uint64_t, int), int depth = 0) {
        STRATA_TRY(uint64_t count, number(size));
        return (this->*read)(count, depth);
    }

    Result<Value> string_of(uint64_t size, int) { return string(size); }
    Result<Value> string(uint64_t size) {
        if (bytes_.size() - at_ < size) return fail("the data ends inside a string");
        std::string_view text(reinterpret_cast<const char*>(bytes_.data()) + at_, size);
        if (!is_utf8(text)) return fail("a string that is not UTF-8");
        at_ += size;
        return Value(text);
    }

    Result<Value> array(uint64_t count, int depth) {
        Value result = Value::array();
        for (uint64_t i = 0; i < count; ++i) {
            STRATA_TRY(Value item, value(depth + 1));
            result.append(std::move(item));
        }
        return result;
    }

    Result<Value> map(uint64_t count, int depth) {
        Value result = Value::map();
        for (uint64_t i = 0; i < count; ++i) {
            STRATA_TRY(Value key, value(depth + 1));
            if (!key.is(Value::Kind::string)) return fail("a map key that is no string");
            STRATA_TRY(Value item, value(depth + 1));
            result.set(key.text(), std::move(item));
        }
        return result;
    }

    std::span<const uint8_t> bytes_;
    size_t at_ = 0;
};

class Writer {
  public:
    void value(const Value& value) {
        switch (value.kind()) {
            case Value::Kind::nil: byte(0xc0); break;
            case Value::Kind::boolean: byte(value.number() ? 0xc3 : 0xc2); break;
            case Value::Kind::integer: integer(value.number()); break;
            case Value::Kind::string: string(value.text()); break;
            case Value::Kind::array:
                count(value.items().size(), 0x90, 0xdc);
                for (const Value& item : value.items()) this->value(item);
                break;
            case Value::Kind::map:
                count(value.fields().size(), 0x80, 0xde);
                for (const auto& [key, item] : value.fields()) {
                    string(key);
                    this->value(item);
                }
                break;
        }
    }

    std::vector<uint8_t> out;

  private:
    void byte(uint64_t value) { out.push_back(static_cast<uint8_t>(value)); }
    void big_endian(uint64_t value, int size) {
        for (int i = size - 1; i >= 0; --i) byte(value >> (8 * i));
    }
    void tagged(uint8_t tag, uint64_t value, int size) {
        byte(tag);
        big_endian(value, size);
    }
    void integer(uint64_t value) {
        const auto number = static_cast<int64_t>(value);
        if (number >= -32 && number < 0x80) return byte(value);
        if (number < 0) return tagged(0xd3, value, 8);
        if (value <= 0xff) return tagged(0xcc, value, 1);
        if (value <= 0xffff) return tagged(0xcd, value, 2);
        if (value <= 0xffffffff) return tagged(0xce, value, 4);
        tagged(0xcf, value, 8);
    }
    void string(std::string_view text) {
        if (text.size() < 32)
            byte(0xa0 | text.size());
        else if (text.size() <= 0xff)
            tagged(0xd9, text.size(), 1);
        else if (text.size() <= 0xffff)
            tagged(0xda, text.size(), 2);
        else
            tagged(0xdb, text.size(), 4);
        out.insert(out.end(), text.begin(), text.end());
    }
    /// Head of an array or map: short form, then 16 and 32 bits.
    void count(size_t n, uint8_t short_tag, uint8_t long_tag) {
        if (n < 16)
            byte(short_tag | n);
        else if (n <= 0xffff)
            tagged(long_tag, n, 2);
        else
            tagged(long_tag + 1, n, 4);
    }
};

}  // namespace

const Value* Value::find(std::string_view key) const {
    for (const auto& [name, value] : fields_)
        if (name == key) return &value;
    return nullptr;
}

Result<Value> read(std::span<const uint8_t> bytes) {
    Reader reader(bytes);
    STRATA_TRY(Value value, reader.value(0));
    if (!reader.done()) return reader.fail("something follows the metadata");
    return value;
}

std::vector<uint8_t> write(const Value& value) {
    Writer writer;
    writer.value(value);
    return std::move(writer.out);
}

}  // namespace strata::isa::msgpack
