#include "signpost/client/fan_out_registrar.h"

#include "absl/status/status.h"
#include "signpost/common/mutex.h"

namespace signpost::client_internal {
namespace {

// Answers when it has heard `left` times.
class Joined {
 public:
  Joined(size_t left, DoneCallback done) : left_(left), done_(std::move(done)) {}

  void Hear(const absl::Status& status) {
    DoneCallback done;
    absl::Status first;
    {
      MutexLock lock(mutex_);
      first_.Update(status);
      if (--left_ > 0) return;
      done = std::move(done_);
      first = first_;
    }
    std::move(done)(first);
  }

 private:
  Mutex mutex_;
  size_t left_;
  absl::Status first_;
  DoneCallback done_;
};

// A function that makes the callback of each.
auto Join(size_t count, DoneCallback done) {
  auto joined = std::make_shared<Joined>(count, std::move(done));
  return [joined] { return [joined](absl::Status status) { joined->Hear(status); }; };
}

}  // namespace

void FanOutRegistrar::Register(const Url& provider, const CallOptions& options, DoneCallback done) {
  if (registrars_.empty()) return std::move(done)(absl::OkStatus());
  const auto each = Join(registrars_.size(), std::move(done));
  for (const auto& registrar : registrars_) registrar->Register(provider, options, each());
}

void FanOutRegistrar::Unregister(const Url& provider, const CallOptions& options,
                                 DoneCallback done) {
  if (registrars_.empty()) return std::move(done)(absl::OkStatus());
  const auto each = Join(registrars_.size(), std::move(done));
  for (const auto& registrar : registrars_) registrar->Unregister(provider, options, each());
}

void FanOutRegistrar::UnregisterAll(const CallOptions& options, DoneCallback done) {
  if (registrars_.empty()) return std::move(done)(absl::OkStatus());
  const auto each = Join(registrars_.size(), std::move(done));
  for (const auto& registrar : registrars_) registrar->UnregisterAll(options, each());
}

}  // namespace signpost::client_internal
