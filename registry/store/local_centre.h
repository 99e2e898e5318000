// A registry centre inside this process: keys with versions, sessions, watches. `memory` and
// `embedded` differ only in the KeyValue below it.
//
// Each Store handle is one session. Versions count all writes of the centre, so that a deleted and
// recreated key never has an old version again. Several changes of one key between two turns of a
// watcher's executor are told as one.
//
// Threads: any. Ownership: handles share the centre; the last one destroys it, on its thread.
// Errors: as the Store port.
#ifndef SIGNPOST_REGISTRY_STORE_LOCAL_CENTRE_H_
#define SIGNPOST_REGISTRY_STORE_LOCAL_CENTRE_H_

#include <cstddef>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "signpost/common/executor.h"
#include "signpost/registry/store/key_value.h"
#include "signpost/registry/store/store.h"

namespace signpost {

class LocalStore;

// Where the callbacks of a local store's calls run; those of its watches run on its executor.
enum class LocalAnswers {
  kOnExecutor,
  // On the calling thread, before the call returns: for a server, which has a caller to answer.
  kAtOnce,
};

class LocalCentre {
 public:
  struct Options {
    // Where, in messages: "memory://test".
    std::string name;
    // Not OK: a copy that only reads. Writes end with this; watches tell what is there, once.
    absl::Status frozen;
    // Values above it: kResourceExhausted.
    size_t max_value_bytes = 4 << 20;
  };

  LocalCentre(std::unique_ptr<KeyValue> data, Options options);
  // All handles are gone.
  ~LocalCentre();
  LocalCentre(const LocalCentre&) = delete;
  LocalCentre& operator=(const LocalCentre&) = delete;

  // What sessions left bound (LeaveBehind, or a process that was killed) is from now on bound to
  // that of `store`, a handle of this centre: it goes with it, unless others write it before.
  absl::Status AdoptLeftBehind(const Store& store);

  // What the session of `store`, a handle of this centre, has bound, or binds from now on, outlives
  // it, for AdoptLeftBehind. Of a store that is about to be closed.
  void LeaveBehind(const Store& store);

  // What ended sessions have bound goes with them. What a failure of the storage kept goes at the
  // next write, when a session opens or ends, or now.
  void DropEnded();

  // For tests. The session of `store` (a handle of this centre) ends as if its owner had been
  // silent too long: its keys go, it is told kExpired, then kNewSession.
  void ExpireSession(const Store& store);
  // For tests. While offline, calls end with kUnavailable and watches are told so; afterwards they
  // go on from what they had.
  void SetOffline(bool offline);
  // Watches that are not cancelled, of all handles.
  size_t watch_count() const;

 private:
  friend class LocalStore;
  friend std::unique_ptr<Store> NewLocalStore(std::shared_ptr<LocalCentre> centre,
                                              std::shared_ptr<Executor> executor,
                                              LocalAnswers answers);
  struct State;

  std::shared_ptr<State> state_;
};

// A handle with a session of its own. Callbacks run on `executor`.
std::unique_ptr<Store> NewLocalStore(std::shared_ptr<LocalCentre> centre,
                                     std::shared_ptr<Executor> executor,
                                     LocalAnswers answers = LocalAnswers::kOnExecutor);

}  // namespace signpost

#endif  // SIGNPOST_REGISTRY_STORE_LOCAL_CENTRE_H_
