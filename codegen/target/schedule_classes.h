#pragma once
#include <optional>
#include <span>
#include <string_view>

namespace strata::codegen {

/// A row of schedule_classes.def.
struct ScheduleClass {
    std::string_view name;
    int bit;
};
inline constexpr ScheduleClass kScheduleClasses[] = {
#define SCHEDULE_CLASS(name, bit) {#name, bit},
#include "strata/codegen/target/schedule_classes.def"
#undef SCHEDULE_CLASS
};

namespace schedule_class {
enum : int {
#define SCHEDULE_CLASS(name, bit) name = bit,
#include "strata/codegen/target/schedule_classes.def"
#undef SCHEDULE_CLASS
};
}  // namespace schedule_class

}  // namespace strata::codegen
