#include "strata/core/dtype/dtype.h"

#include <array>

#include "strata/core/support/error.h"

namespace strata {
namespace {

struct Row {
    std::string_view name;
    Kind kind;
    int bits, exponent, mantissa;
    std::string_view hip, numpy;
};
constexpr Row kTable[] = {
#define DTYPE(name, kind, bits, exponent, mantissa, hip, numpy) \
    {#name, Kind::kind, bits, exponent, mantissa, hip, numpy},
#include "strata/core/dtype/dtypes.def"
#undef DTYPE
    {"index", Kind::Int, 64, 0, 0, "long", ""},
    {"none", Kind::Int, 0, 0, 0, "void", ""},
#define COMPLEX(name, part) {#name, Kind::Complex, 0, 0, 0, "", #name},
#include "strata/core/dtype/complex_dtypes.def"
#undef COMPLEX
};
const Row& row(DType t) { return kTable[static_cast<size_t>(t.scalar)]; }

constexpr DType kEvery[] = {
#define DTYPE(name, ...) DType(Scalar::name),
#include "strata/core/dtype/dtypes.def"
#undef DTYPE
};

constexpr DType kComplex[] = {
#define COMPLEX(name, part) dtypes::name,
#include "strata/core/dtype/complex_dtypes.def"
#undef COMPLEX
};
constexpr DType kParts[] = {
#define COMPLEX(name, part) dtypes::part,
#include "strata/core/dtype/complex_dtypes.def"
#undef COMPLEX
};

}  // namespace

Kind DType::kind() const { return row(*this).kind; }
int DType::bits() const { return is_complex() ? 2 * part().bits() : row(*this).bits; }
int DType::bytes() const { return bits() / 8 * lanes; }
int DType::exponent_bits() const { return row(*this).exponent; }
int DType::mantissa_bits() const { return row(*this).mantissa; }
std::string_view DType::name() const { return row(*this).name; }
std::string_view DType::hip() const { return row(*this).hip; }
std::string_view DType::numpy() const { return row(*this).numpy; }

DType DType::part() const {
    return is_complex() ? kParts[static_cast<size_t>(scalar) - static_cast<size_t>(Scalar::none) - 1] : *this;
}
DType DType::complex() const { return part() == dtypes::float64 ? dtypes::complex128 : dtypes::complex64; }

std::span<const DType> all_dtypes() { return kEvery; }
std::span<const DType> complex_dtypes() { return kComplex; }

DType parse_dtype(std::string_view name) {
    std::string known;
    for (DType t : kEvery) {
        if (name == t.name() || (!t.numpy().empty() && name == t.numpy())) return t;
        known += (known.empty() ? "" : ", ") + std::string(t.name());
    }
    for (DType t : kComplex) {
        if (name == t.name()) return t;
        known += ", " + std::string(t.name());
    }
    if (name == "bool") return dtypes::boolean;
    user_error(ErrorKind::DType, "unknown dtype '{}'; known: {}", name, known);
}

}  // namespace strata
