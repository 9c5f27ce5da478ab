#pragma once
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

// The access of a memory instruction, by its mnemonic; families differ in spelling.
namespace strata::emu::harness {

struct Access {
    enum Kind : uint8_t { load, store, atomic } kind = load;
    int bytes = 4;  ///< of one element; of the whole value for 4 and more
    bool is_signed = false, returns = false;
    enum Part : uint8_t { whole, low, high } part = whole;  ///< d16: which half of the register
    char type = 'b';                                        ///< of atomics: b u i f, h and n (packed half and bfloat)
    std::string op;                                         ///< of atomics: "add", "min", "cmpswap", ...
    bool compare_first = false;                             ///< ds_cmpst: the comparison is the first data operand
    bool two = false, stride64 = false, thread_addresses = false, to_local = false;
    int rows() const { return std::max(1, bytes / 4); }
};

/// Reads the part of a mnemonic after its unit's prefix, word by word.
class AccessParser {
  public:
    explicit AccessParser(bool local) : local_(local) {}

    void word(std::string_view word, bool first) {
        if (first && (kind(word) || (local_ && pair(word)))) return;
        if (option(word) || type(word)) return;
        if (first && local_) a_.kind = Access::atomic;
        name_ += (name_.empty() ? "" : "_") + std::string(word);
    }

    /// The access; nothing where the words are more than that.
    std::optional<Access> access() {
        if (a_.kind == Access::atomic) return atomic();
        if (!name_.empty() || !typed_) return {};
        return a_;
    }

  private:
    bool kind(std::string_view word) {
        if (word == "load" || word == "read") return a_.kind = Access::load, true;
        if (word == "store" || word == "write") return a_.kind = Access::store, true;
        return word == "atomic" && !local_ ? a_.kind = Access::atomic, true : false;
    }

    bool pair(std::string_view word) {
        const bool read = word == "read2" || word == "read2st64", far = word.ends_with("st64");
        if (!read && word != "write2" && word != "write2st64") return false;
        a_.kind = read ? Access::load : Access::store;
        a_.two = true, a_.stride64 = far;
        return true;
    }

    bool option(std::string_view word) {
        if (word == "2addr") return a_.two = true;
        if (word == "stride64") return a_.stride64 = true;
        if (word == "rtn") return a_.returns = true;
        if (word == "addtid") return a_.thread_addresses = true;
        if (word == "lds") return a_.to_local = true;
        if (word == "d16") return a_.part = a_.part == Access::high ? Access::high : Access::low, true;
        return word == "hi" ? a_.part = Access::high, true : false;
    }

    bool type(std::string_view word) {
        static constexpr std::pair<std::string_view, std::string_view> kOld[] = {
            {"dword", "b32"},    {"dwordx2", "b64"},   {"dwordx3", "b96"}, {"dwordx4", "b128"},
            {"dwordx8", "b256"}, {"dwordx16", "b512"}, {"ubyte", "u8"},    {"sbyte", "i8"},
            {"byte", "b8"},      {"ushort", "u16"},    {"sshort", "i16"},  {"short", "b16"}};
        for (auto [old, now] : kOld)
            if (word == old) word = now;
        if (word == "x2") return a_.bytes = 8, typed_ = true;
        if (word == "bf16") return a_.type = 'n', a_.bytes = 4, typed_ = true;
        const bool letter = word.size() > 1 && std::string_view("buif").find(word[0]) != word.npos;
        if (!letter || word.find_first_not_of("0123456789", 1) != word.npos) return false;
        a_.type = word[0];
        a_.is_signed = word[0] == 'i';
        a_.bytes = std::atoi(std::string(word.substr(1)).c_str()) / 8;
        return typed_ = true;
    }

    std::optional<Access> atomic() {
        Access a = a_;
        std::string name = name_;
        if (a.type == 'f' && a.bytes == 2) a.type = 'h', a.bytes = 4;
        if (name == "smin" || name == "smax") a.type = 'i', name.erase(0, 1);
        if (name == "umin" || name == "umax") a.type = 'u', name.erase(0, 1);
        if (name == "min_num" || name == "max_num") name.resize(3);
        if (name == "sub_clamp") name = "csub";
        if (name == "cmpst") name = "cmpswap", a.compare_first = true;
        if (name == "cmpstore") name = "cmpswap";
        if (name == "storexchg" || name == "wrxchg") name = "swap";
        if (name == "wrxchg2" || name == "wrxchg2st64") a.two = true, a.stride64 = name != "wrxchg2", name = "swap";
        static constexpr std::string_view kOps[] = {"add",  "sub",      "rsub",   "inc",   "dec",  "min",
                                                    "max",  "and",      "or",     "xor",   "swap", "cmpswap",
                                                    "csub", "cond_sub", "pk_add", "mskor", "wrap"};
        if (std::find(std::begin(kOps), std::end(kOps), name) == std::end(kOps)) return {};
        a.op = name;
        return a;
    }

    const bool local_;
    Access a_;
    bool typed_ = false;  ///< a word named a type
    std::string name_;    ///< of an atomic operation, so far
};

/// The access that the part of a mnemonic after its unit's prefix names; nothing for one that is more than that.
inline std::optional<Access> parse_access(std::string_view text, bool local) {
    AccessParser parser(local);
    for (size_t at = 0; at < text.size();) {
        const size_t end = std::min(text.find('_', at), text.size());
        parser.word(text.substr(at, end - at), at == 0);
        at = end + 1;
    }
    return parser.access();
}

}  // namespace strata::emu::harness
