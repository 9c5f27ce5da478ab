#pragma once
#include <string>
#include <vector>

#include "strata/asm/llvm/service/wire.h"
#include "strata/core/support/result.h"

namespace strata::isa {

/// Sends a request to the LLVM service, a process of this one's own that reads the user's text. The service is started
/// at the first request, ends with this process, and is restarted when a text has ended it. Error: Assembly, when it
/// ended or did not answer in kMostSeconds; Device, when there is no service. Thread-safe; after fork(), each process
/// has its own.
Result<Message> ask_llvm(const Message& request);

}  // namespace strata::isa
