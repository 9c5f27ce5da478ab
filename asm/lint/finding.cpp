#include "strata/asm/lint/finding.h"

#include <algorithm>

namespace strata::lint {
namespace {

constexpr std::string_view kKinds[] = {
#define FINDING(kind) #kind,
#include "strata/asm/lint/findings.def"
#undef FINDING
};

}  // namespace

std::string name(Kind kind) {
    std::string name(kKinds[static_cast<size_t>(kind)]);
    std::ranges::replace(name, '_', '-');
    return name;
}

void Findings::add(Finding finding) {
    made_ += finding.count;
    if (witness_ && !finding.witness) finding.witness = *witness_;
    const auto [at, fresh] = found_.try_emplace({finding.pc, finding.kind}, finding);
    if (!fresh) at->second.count += finding.count;
}

void Findings::add(const Findings& others) {
    for (const auto& [place, finding] : others.found_) add(finding);
}

bool Findings::again(Kind kind, uint64_t pc) {
    const auto at = found_.find({pc, kind});
    if (at == found_.end()) return false;
    ++at->second.count;
    ++made_;
    return true;
}

std::vector<Finding> Findings::sorted() const {
    std::vector<Finding> all;
    all.reserve(found_.size());
    for (const auto& [place, finding] : found_) all.push_back(finding);
    return all;
}

}  // namespace strata::lint
