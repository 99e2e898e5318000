// Provider side of the application level: exported URLs -> metadata document, mapping, instance.
// Private to this folder.
//
// Desired state is what is exported; a run writes all of it, in the order document, mapping,
// instance, so that nobody finds an instance that cannot be resolved. What fails is tried again
// with back-off until it holds. A new session writes the instance again, at once; after a gap in
// the same session all is looked at again, at the pace of registry/return_pace.h.
//
// Threads: all on the control executor, except registered() (any thread) and Close once the guard
// is closed. Ownership: what the constructor takes must outlive this.
#ifndef SIGNPOST_REGISTRY_APPLICATION_APPLICATION_REGISTRAR_H_
#define SIGNPOST_REGISTRY_APPLICATION_APPLICATION_REGISTRAR_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "signpost/common/backoff.h"
#include "signpost/common/call_options.h"
#include "signpost/common/executor.h"
#include "signpost/common/mutex.h"
#include "signpost/common/subscription.h"
#include "signpost/common/url.h"
#include "signpost/mapping/service_name_mapping.h"
#include "signpost/metadata/metadata_collector.h"
#include "signpost/registry/accepted_protocols.h"
#include "signpost/registry/application/application_registry.h"
#include "signpost/registry/callback_guard.h"
#include "signpost/registry/registry_factory.h"

namespace signpost::application_internal {

using registry_internal::CallbackGuard;

class ApplicationRegistrar {
 public:
  ApplicationRegistrar(Executor& executor, RegistryCentre& centre, ServiceNameMapping& mapping,
                       CallbackGuard guard, ApplicationRegistryOptions options);
  ~ApplicationRegistrar();

  void Register(const Url& provider, const CallOptions& options, DoneCallback done);
  void Unregister(const Url& provider, const CallOptions& options, DoneCallback done);
  void UnregisterAll(const CallOptions& options, DoneCallback done);
  // Ends what waits, with kFailedPrecondition, by tasks of their own.
  void Close();

  RegisteredState registered() const;

 private:
  enum class Wish { kRegister, kUnregister, kUnregisterAll };
  struct Waiter {
    DoneCallback done;
    Wish wish = Wish::kRegister;
    Url url;                  // none of kUnregisterAll
    uint64_t generation = 0;  // of the desired state that must be written
    Executor::TimerId deadline = 0;
    CancelToken cancel;
    int cancel_id = 0;
  };

  void Await(Wish wish, const Url& url, const CallOptions& options, DoneCallback done);
  // Those who wait for the opposite: what they wait for does not come any more.
  std::vector<uint64_t> Overtaken(Wish by, const Url& url) const;
  void EndWaiter(uint64_t id, const absl::Status& status);
  void EndWaiters(uint64_t generation, const absl::Status& status);
  void Changed(absl::Duration delay);
  void RunAfter(absl::Duration delay);
  void OnSession(SessionEvent event);

  void Run();
  void PublishMetadata();
  void PublishMappings();
  void Map(const std::string& interface_name);
  void OnMapped(const std::string& interface_name, const absl::Status& status);
  void WriteInstance();
  void DeleteStale();
  void EndRun(const absl::Status& status);
  ServiceInstance MakeInstance();
  CallOptions StepOptions() const;
  void Tell(const std::string& revision);

  Executor& executor_;
  RegistryCentre& centre_;
  ServiceNameMapping& mapping_;
  CallbackGuard guard_;
  const ApplicationRegistryOptions options_;
  const AcceptedProtocols accepts_;
  const int64_t start_ms_;
  int64_t registration_ms_ = 0;
  MetadataCollector collector_;
  Backoff backoff_;
  Backoff look_delay_;
  Subscription session_;

  uint64_t generation_ = 1;  // of the desired state
  uint64_t written_ = 1;     // the newest that the centre has
  absl::Status last_error_;
  std::map<uint64_t, Waiter> waiters_;
  uint64_t next_waiter_ = 1;
  Executor::TimerId timer_ = 0;
  absl::Duration due_ = absl::ZeroDuration();  // of timer_

  // The run that is under way.
  bool running_ = false;
  uint64_t run_generation_ = 0;
  std::optional<CollectedMetadata> collected_;
  size_t mappings_left_ = 0;
  std::deque<std::string> to_map_;  // interfaces whose call is still to be made
  absl::Status mapping_error_;

  // What this process knows to be in the centre.
  std::set<std::string> published_;               // revisions
  std::set<std::string> mapped_;                  // interfaces
  std::map<std::string, ServiceInstance> alive_;  // instances that may be there, by id

  mutable Mutex mutex_;
  RegisteredState registered_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace signpost::application_internal

#endif  // SIGNPOST_REGISTRY_APPLICATION_APPLICATION_REGISTRAR_H_
