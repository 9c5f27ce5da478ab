#pragma once
#include <string>

#include "strata/hip/stream/stream.h"

/// Streams that wait for what is not there yet. Calls on them, and on streams that they block, are kept and done in
/// their order as soon as possible. The thread that calls the library next does them.
namespace strata::hip::library {

/// True if it is there. It is asked while the streams are locked: it calls nothing of this header.
using Ready = std::function<bool()>;
struct Awaited {
    Ready ready = {};                        ///< none: it waits for what stands before it alone
    std::function<std::string()> text = {};  ///< "until ...", for the message of a deadlock
    const void* memory = nullptr;            ///< that it looks at
};

/// A stream does what comes next when that is there.
void hold(Stream& stream, Awaited awaited, Work work);
/// Does what can be done by now.
void go_on();
bool is_held(const Stream& stream);
/// The host waits until something is there, a stream, all of a device hold nothing back. Errors: hipErrorLaunchTimeOut
/// where nothing is left that could bring it about; the code of what failed since. `of_others`: other processes could.
Code wait_until_ready(const Ready& ready, bool of_others = false);
Code wait_until_free(const Stream& stream);
Code wait_until_free(int device);
/// Drops the calls that a stream, or all of a device hold back.
void drop_held(const Stream& stream);
void drop_held(int device);

}  // namespace strata::hip::library
