#pragma once

namespace strata::isa {

/// Answers requests on a socket until the other end closes it or nothing comes for a while.
void serve(int socket);

}  // namespace strata::isa
