#include "strata/ops/random.h"

#include <mutex>

#include "strata/core/support/mutex.h"
#include "strata/ops/build_p.h"
#include "strata/ops/capture.h"

namespace strata::ops {
namespace {

/// Where the sequence stands. Every call takes the counters that it makes numbers of, whole.
struct Sequence {
    Mutex mutex;
    uint64_t seed = 0, offset = 0;
};
Sequence& sequence() {
    static Sequence it;
    return it;
}

/// The key lives in memory, not in the graph's constants: kernels of equal shape are one kernel whatever the seed.
thread_local KeyLog::Scope* logging = nullptr;

Tensor new_key(int64_t n, std::string_view device) {
    return fed({6}, dtypes::uint32, device, [n] {
        Sequence& s = sequence();
        std::lock_guard lock(s.mutex);
        const uint64_t words[3] = {s.seed, s.offset, 0};  // little-endian
        s.offset += static_cast<uint64_t>(n);
        const auto* bytes = reinterpret_cast<const uint8_t*>(words);
        return std::vector<uint8_t>(bytes, bytes + sizeof words);
    });
}

void check_floating(std::string_view name, DType dtype) {
    if (!dtype.is_float()) user_error(ErrorKind::DType, "[{}] gives floats, not {}", name, dtype.name());
}

/// The key for n numbers, of which a counter makes some.
Tensor key_for(std::string_view name, int64_t n, int a_counter, std::string_view device) {
    const int64_t counters = (n + a_counter - 1) / a_counter;
    if (counters > int64_t{1} << 32)
        user_error(ErrorKind::Usage, "[{}] {} numbers at once: 1 to {} are possible", name, n,
                   int64_t{a_counter} << 32);
    return KeyLog::next(counters, device);
}

}  // namespace

KeyLog::Scope::Scope(KeyLog& log, bool again) : log_(log), again_(again), around_(logging) { logging = this; }
KeyLog::Scope::~Scope() { logging = around_; }

Tensor KeyLog::next(int64_t n, std::string_view device) { return next(logging, n, device); }

Tensor KeyLog::next(Scope* scope, int64_t n, std::string_view device) {
    if (!scope) return new_key(n, device);
    std::vector<Tensor>& keys = scope->log_.keys_;
    if (scope->again_ && scope->next_ < keys.size()) return keys[scope->next_++];
    Tensor key = next(scope->around_, n, device);
    if (!scope->again_) keys.push_back(key);
    return key;
}

void manual_seed(uint64_t seed) {
    runtime::refuse_in_recording("the sequence of random numbers restarts");
    Sequence& s = sequence();
    std::lock_guard lock(s.mutex);
    s.seed = seed;
    s.offset = 0;
}

Tensor rand(const Shape& shape, DType dtype, std::string_view device) {
    check_floating("rand", dtype);
    check_shape("rand", shape);
    int64_t n = product(shape);
    if (n == 0) return Tensor::empty(shape, dtype, device);
    return uniform_from(key_for("rand", n, dtype == dtypes::float64 ? 2 : 4, device), n, dtype).reshape(shape);
}

Tensor randn(const Shape& shape, DType dtype, std::string_view device) {
    check_floating("randn", dtype);
    check_shape("randn", shape);
    int64_t n = product(shape);
    if (n == 0) return Tensor::empty(shape, dtype, device);
    return normal_from(key_for("randn", n, 4, device), n, dtype).reshape(shape);
}

Tensor randint(const Shape& shape, int64_t low, int64_t high, DType dtype, std::string_view device) {
    check_shape("randint", shape);
    if (!dtype.is_integer()) user_error(ErrorKind::DType, "[randint] gives integers, not {}", dtype.name());
    if (low >= high || low < int_min(dtype) || high - 1 > int_max(dtype))
        user_error(ErrorKind::Usage, "[randint] [{}, {}) is empty or does not fit {}", low, high, dtype.name());
    int64_t n = product(shape);
    if (n == 0) return Tensor::empty(shape, dtype, device);
    const uint64_t span = static_cast<uint64_t>(high) - static_cast<uint64_t>(low);
    const bool narrow = span <= uint64_t{1} << 32;
    const Tensor key = key_for("randint", n, narrow ? 4 : 2, device);
    Tensor in_span;
    if (narrow) {  // a 32-bit fraction of the span
        in_span = words_from(key, n).cast(dtypes::uint64).mul(span).bitwise_right_shift(32);
    } else {  // the remainder of 64 bits
        const auto [upper, lower] = pairs_from(key, n);
        const Tensor word = upper.cast(dtypes::uint64).bitwise_left_shift(32);
        in_span = word.bitwise_or(lower.cast(dtypes::uint64)).remainder(span);
    }
    return in_span.cast(dtypes::int64).add(low).cast(dtype).reshape(shape);
}

}  // namespace strata::ops
