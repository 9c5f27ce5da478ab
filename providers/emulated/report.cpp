#include "strata/providers/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <mutex>

#include "strata/asm/lint/lint.h"

namespace strata::providers {
namespace {

const isa::KernelInfo& info_of(const CheckFinding& of) { return *of.module->object().kernel(of.kernel).value(); }

bool same_code(const CheckFinding& a, const CheckFinding& b) { return a.module == b.module && a.kernel == b.kernel; }

bool same(const CheckFinding& a, const CheckFinding& b) {
    if (!same_code(a, b) || a.finding.kind != b.finding.kind || a.finding.pc != b.finding.pc) return false;
    return a.module || a.finding.what == b.finding.what;
}

/// The objects of findings about one kernel, without the brackets of an array.
std::string objects(const std::vector<lint::Finding>& findings, const CheckFinding& like) {
    std::string out;
    if (like.module) {
        out = lint::to_json(findings, like.module->object(), info_of(like));
        const size_t first = out.find('['), last = out.rfind(']');
        return out.substr(first + 1, last - first - 1);
    }
    for (const lint::Finding& one : findings)
        out += fmt::format("{}{{\"kind\": {}, \"kernel\": {}, \"what\": {}, \"fix\": {}, \"count\": {}}}",
                           out.empty() ? "" : ", ", lint::json_string(name(one.kind)), lint::json_string(like.kernel),
                           lint::json_string(one.what), lint::json_string(one.fix), one.count);
    return out;
}

}  // namespace

const isa::Segment* CheckFinding::code() const {
    return module ? module->object().code_at(info_of(*this).entry_address) : nullptr;
}

std::string CheckFinding::text() const {
    const isa::Segment* const segment = code();
    if (!segment)
        return fmt::format("kernel '{}': {}: {}\n  fix: {}", kernel, name(finding.kind), finding.what, finding.fix);
    std::string text = lint::to_text(finding, module->object(), *segment);
    while (text.ends_with('\n')) text.pop_back();
    return fmt::format("kernel '{}': {}", kernel, text);
}

std::string CheckFinding::line() const {
    if (module) return lint::to_line(finding, module->object(), info_of(*this));
    return fmt::format("{}: warning: {} [{}]", kernel, finding.what, name(finding.kind));
}

std::string to_json(const std::vector<CheckFinding>& findings) {
    std::string out;
    for (size_t at = 0; at < findings.size();) {
        const CheckFinding& like = findings[at];
        std::vector<lint::Finding> group;
        for (; at < findings.size() && same_code(findings[at], like); ++at) group.push_back(findings[at].finding);
        out += (out.empty() ? "" : ", ") + objects(group, like);
    }
    return "[" + out + "]";
}

void Report::add(const std::vector<CheckFinding>& findings) {
    std::lock_guard lock(mutex_);
    for (const CheckFinding& one : findings) {
        const auto known = std::ranges::find_if(all_, [&](const CheckFinding& other) { return same(one, other); });
        if (known == all_.end())
            all_.push_back(one);
        else
            known->finding.count += one.finding.count;
    }
}

std::vector<CheckFinding> Report::findings() const {
    std::lock_guard lock(mutex_);
    return all_;
}

}  // namespace strata::providers
