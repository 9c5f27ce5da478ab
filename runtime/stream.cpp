#include "strata/runtime/stream.h"

#include <map>

namespace strata::runtime {
namespace {

thread_local std::map<uint16_t, std::shared_ptr<Stream>> chosen;  // by device

providers::StreamHandle* handle_of(Device& device, const Stream* stream) {
    if (!stream) return device.own_stream().value();
    if (&stream->device() != &device)
        user_error(ErrorKind::Usage, "a stream of {} cannot take an event of {}", stream->device().name(),
                   device.name());
    return stream->handle();
}

}  // namespace

Stream::Stream(Device& device, providers::StreamHandle* handle) : device_(device), handle_(handle) {}

std::shared_ptr<Stream> Stream::create(Device& device) {
    return std::shared_ptr<Stream>(new Stream(device, device.api().stream_create_beside(device.ordinal()).value()));
}
std::shared_ptr<Stream> Stream::over(Device& device, uint64_t raw) {
    return std::shared_ptr<Stream>(new Stream(device, device.api().stream_over(device.ordinal(), raw).value()));
}
Stream::~Stream() { (void)device_.api().stream_destroy(handle_); }

std::shared_ptr<Stream> Stream::current(const Device& device) {
    const auto found = chosen.find(device.index());
    return found == chosen.end() ? nullptr : found->second;
}

std::shared_ptr<Stream> Stream::change(const Device& device, std::shared_ptr<Stream> to) {
    if (to) to->device().has_streams();
    std::shared_ptr<Stream>& now = chosen[device.index()];
    std::swap(now, to);
    return to;
}

Event::Event(Device& device) : device_(device), handle_(device.api().event_create(device.ordinal()).value()) {}
Event::~Event() { (void)device_.api().event_destroy(handle_); }

void Event::record(const Stream* stream) {
    device_.api().event_record(handle_, handle_of(device_, stream)).value();
    recorded_ = true;
}
void Event::wait(const Stream* stream) const {
    check_recorded();
    device_.api().stream_wait_event(handle_of(device_, stream), handle_).value();
}
void Event::synchronize() const {
    check_recorded();
    device_.api().event_synchronize(handle_).value();
}
bool Event::done() const {
    check_recorded();
    return device_.api().event_query(handle_).value();
}
double Event::elapsed_ms(const Event& to) const {
    check_recorded();
    to.check_recorded();
    if (&device_ != &to.device_)
        user_error(ErrorKind::Usage, "events of {} and {}: time is that of one device", device_.name(),
                   to.device_.name());
    to.synchronize();
    return device_.api().event_elapsed_ms(handle_, to.handle_).value();
}
void Event::check_recorded() const {
    if (!recorded_) user_error(ErrorKind::Usage, "the event was not recorded: event.record(stream) comes first");
}

void order(Device& device, const Stream* before, const Stream* after) {
    Event here(device);
    here.record(before);
    here.wait(after);
}

}  // namespace strata::runtime
