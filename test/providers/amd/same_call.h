#pragma once
#include <type_traits>

namespace strata::providers::abi {

/// Two parameters are passed the same way: both pointers, or both integers of one size.
template <class Ours, class Hip>
constexpr bool kSamePassing = std::is_pointer_v<Ours> == std::is_pointer_v<Hip> && sizeof(Ours) == sizeof(Hip);
template <class Ours, class Hip>
constexpr bool kSameCall = false;
template <class A, class... Ours, class B, class... Hip>
constexpr bool kSameCall<A (*)(Ours...), B (*)(Hip...)> = [] {
    if constexpr (sizeof...(Ours) != sizeof...(Hip))
        return false;
    else
        return kSamePassing<A, B> && (kSamePassing<Ours, Hip> && ...);
}();

}  // namespace strata::providers::abi
