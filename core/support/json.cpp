// json: values as text, and text as values.
#include "strata/core/support/json.h"

#include <charconv>

#include "strata/core/support/utf8.h"

namespace strata {
namespace {

void append_quoted(std::string& to, std::string_view text) {
    to += '"';
    for (size_t i = 0; i < text.size();) {
        const unsigned char c = static_cast<unsigned char>(text[i]);
        if (c == '"' || c == '\\') {
            to += '\\', to += text[i++];
        } else if (c >= 0x20 && c < 0x7f) {
            to += text[i++];
        } else if (c < 0x80) {
            to += fmt::format("\\u{:04x}", c), ++i;
        } else {
            const int more = c >= 0xf0 ? 3 : c >= 0xe0 ? 2 : 1;
            uint32_t code = c & (0x3fu >> more);
            for (int k = 0; k < more && ++i < text.size(); ++k)
                code = code << 6 | (static_cast<unsigned char>(text[i]) & 0x3f);
            ++i;
            if (code >= 0x10000)
                to += fmt::format("\\u{:04x}\\u{:04x}", 0xd800 + ((code - 0x10000) >> 10),
                                  0xdc00 + ((code - 0x10000) & 0x3ff));
            else
                to += fmt::format("\\u{:04x}", code);
        }
    }
    to += '"';
}

void append_utf8(std::string& to, uint32_t code) {
    const auto more = [&](int shift) { to += static_cast<char>(0x80 | (code >> shift & 0x3f)); };
    if (code < 0x80) {
        to += static_cast<char>(code);
    } else if (code < 0x800) {
        to += static_cast<char>(0xc0 | code >> 6), more(0);
    } else if (code < 0x10000) {
        to += static_cast<char>(0xe0 | code >> 12), more(6), more(0);
    } else {
        to += static_cast<char>(0xf0 | code >> 18), more(12), more(6), more(0);
    }
}

}  // namespace

/// Reads one value; the first error ends it.
class JsonReader {
  public:
    explicit JsonReader(std::string_view text) : text_(text) {}

    Result<Json> run() {
        Json value;
        STRATA_TRY_VOID(read(value, 0));
        skip_blanks();
        if (at_ != text_.size()) return wrong("the value has ended");
        return value;
    }

  private:
    static constexpr int kDeepest = 64;

    Error wrong(std::string_view what) const {
        return make_error(ErrorKind::Usage, "byte {} of the JSON text: {}", at_, what);
    }
    void skip_blanks() { at_ = std::min(text_.find_first_not_of(" \t\r\n", at_), text_.size()); }
    bool take(std::string_view word) {
        if (!text_.substr(at_).starts_with(word)) return false;
        at_ += word.size();
        return true;
    }

    Result<void> read(Json& to, int depth) {
        if (depth > kDeepest) return wrong("there are more than 64 levels");
        skip_blanks();
        if (at_ == text_.size()) return wrong("a value is missing");
        switch (text_[at_]) {
            case '{': return read_object(to, depth);
            case '[': return read_array(to, depth);
            case '"': return read_text(to.value_.emplace<std::string>());
            case 't': return to.value_ = true, take("true") ? Result<void>() : wrong("no value begins so");
            case 'f': return to.value_ = false, take("false") ? Result<void>() : wrong("no value begins so");
            case 'n': return take("null") ? Result<void>() : wrong("no value begins so");
            default: return read_number(to);
        }
    }

    Result<void> read_array(Json& to, int depth) {
        Json::Array& items = to.value_.emplace<Json::Array>();
        ++at_, skip_blanks();
        if (take("]")) return {};
        for (;;) {
            STRATA_TRY_VOID(read(items.emplace_back(), depth + 1));
            skip_blanks();
            if (take("]")) return {};
            if (!take(",")) return wrong("expected ',' or ']'");
        }
    }

    Result<void> read_object(Json& to, int depth) {
        Json::Object& members = to.value_.emplace<Json::Object>();
        ++at_, skip_blanks();
        if (take("}")) return {};
        for (;;) {
            skip_blanks();
            std::string name;
            if (at_ == text_.size() || text_[at_] != '"') return wrong("expected a name in quotes");
            STRATA_TRY_VOID(read_text(name));
            skip_blanks();
            if (!take(":")) return wrong("expected ':'");
            const auto [member, is_new] = members.try_emplace(std::move(name));
            if (!is_new) return wrong("the object has this name already");
            STRATA_TRY_VOID(read(member->second, depth + 1));
            skip_blanks();
            if (take("}")) return {};
            if (!take(",")) return wrong("expected ',' or '}'");
        }
    }

    bool read_hex(uint32_t& code) {
        const char* first = text_.data() + at_;
        if (text_.size() - at_ < 4) return false;
        const auto [end, error] = std::from_chars(first, first + 4, code, 16);
        if (error != std::errc() || end != first + 4) return false;
        at_ += 4;
        return true;
    }

    Result<void> read_escape(std::string& to) {
        if (at_ == text_.size()) return wrong("the text does not end");
        constexpr std::string_view kLetters = "\"\\/bfnrt", kMeant = "\"\\/\b\f\n\r\t";
        const char letter = text_[at_++];
        if (const size_t known = kLetters.find(letter); known != kLetters.npos)
            return to += kMeant[known], Result<void>();
        uint32_t code = 0, low = 0;
        if (letter != 'u' || !read_hex(code)) return wrong("there is no such escape");
        if (code >= 0xd800 && code < 0xdc00) {
            if (!take("\\u") || !read_hex(low) || low < 0xdc00 || low > 0xdfff) return wrong("half a surrogate pair");
            code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
        } else if (code >= 0xdc00 && code < 0xe000) {
            return wrong("half a surrogate pair");
        }
        append_utf8(to, code);
        return {};
    }

    Result<void> read_text(std::string& to) {
        for (++at_; at_ < text_.size();) {
            const char c = text_[at_];
            if (c == '"') return ++at_, Result<void>();
            if (static_cast<unsigned char>(c) < 0x20) return wrong("a control character in a text");
            ++at_;
            if (c != '\\')
                to += c;
            else
                STRATA_TRY_VOID(read_escape(to));
        }
        return wrong("the text does not end");
    }

    Result<void> read_number(Json& to) {
        const size_t end = std::min(text_.find_first_not_of("+-.0123456789eE", at_), text_.size());
        const std::string_view word = text_.substr(at_, end - at_);
        const std::string_view digits = word.substr(word.starts_with('-') ? 1 : 0);
        const auto is_digit = [&](size_t i) { return i < digits.size() && digits[i] >= '0' && digits[i] <= '9'; };
        if (!is_digit(0) || (digits[0] == '0' && is_digit(1)) || digits.ends_with('.'))
            return wrong("no value begins so");
        const auto reads = [&](auto& value) {
            const auto [last, error] = std::from_chars(word.data(), word.data() + word.size(), value);
            return error == std::errc() && last == word.data() + word.size();
        };
        int64_t whole = 0;
        uint64_t large = 0;
        double real = 0;
        if (reads(whole))
            to.value_ = whole;
        else if (reads(large))
            to.value_ = large;
        else if (reads(real))
            to.value_ = real;
        else
            return wrong("this is no number");
        at_ = end;
        return {};
    }

    std::string_view text_;
    size_t at_ = 0;
};

bool Json::whole(uint64_t& to) const {
    if (const auto* with_sign = std::get_if<int64_t>(&value_))
        return *with_sign >= 0 && (to = static_cast<uint64_t>(*with_sign), true);
    const auto* large = std::get_if<uint64_t>(&value_);
    return large && (to = *large, true);
}

bool Json::whole(int64_t& to) const {
    if (const auto* with_sign = std::get_if<int64_t>(&value_)) return to = *with_sign, true;
    const auto* large = std::get_if<uint64_t>(&value_);
    return large && *large <= INT64_MAX && (to = static_cast<int64_t>(*large), true);
}

const Json* Json::find(std::string_view member) const {
    const Object* members = object();
    if (!members) return nullptr;
    const auto found = members->find(member);
    return found == members->end() ? nullptr : &found->second;
}

std::string Json::dump() const {
    std::string out;
    const auto append_all = [&](char open, char close, const auto& items, auto append) {
        out += open;
        for (const auto& item : items) {
            if (out.back() != open || &item != &*items.begin()) out += ',';
            append(item);
        }
        out += close;
    };
    if (const auto* flag = std::get_if<bool>(&value_)) return *flag ? "true" : "false";
    if (const auto* whole = std::get_if<int64_t>(&value_)) return fmt::format("{}", *whole);
    if (const auto* large = std::get_if<uint64_t>(&value_)) return fmt::format("{}", *large);
    if (const auto* real = std::get_if<double>(&value_)) return fmt::format("{}", *real);
    if (const std::string* value = text()) return append_quoted(out, *value), out;
    if (const Array* items = array())
        append_all('[', ']', *items, [&](const Json& item) { out += item.dump(); });
    else if (const Object* members = object())
        append_all('{', '}', *members, [&](const auto& member) {
            append_quoted(out, member.first), out += ':', out += member.second.dump();
        });
    else
        out = "null";
    return out;
}

Result<Json> Json::parse(std::string_view text) {
    if (!is_utf8(text)) return make_error(ErrorKind::Usage, "the JSON text is not in UTF-8");
    return JsonReader(text).run();
}

}  // namespace strata
