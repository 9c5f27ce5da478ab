#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "strata/asm/lint/finding.h"
#include "strata/asm/object/code_object.h"
#include "strata/core/support/result.h"

namespace strata::lint {

/// Findings in a kernel's code without running it: waits, hazards, barriers, resources, over its control flow. Errors:
/// Usage (no such kernel), Unsupported (bytes that are no instruction).
Result<std::vector<Finding>> lint(const isa::CodeObject& object, std::string_view kernel);

/// Where a finding is, for people: its instruction with two lines of context, source line, the earlier instruction.
/// `text` is the finding's executable segment.
std::string to_text(const Finding& finding, const isa::CodeObject& object, const isa::Segment& text);
/// "file:line:column: warning: ..." or "kernel+0x10: warning: ..." without line tables.
std::string to_line(const Finding& finding, const isa::CodeObject& object, const isa::KernelInfo& kernel);
/// "file:line:column" of an instruction, or "" where no line table tells.
std::string source_of(const isa::CodeObject& object, const isa::Segment& text, uint64_t pc);
/// A JSON array, an object a finding.
std::string to_json(const std::vector<Finding>& findings, const isa::CodeObject& object, const isa::KernelInfo& kernel);
std::string json_string(std::string_view text);  ///< as a string of JSON

}  // namespace strata::lint
