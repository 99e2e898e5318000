#include "signpost/registry/server/registry_handler.h"

#include <algorithm>
#include <optional>
#include <random>
#include <utility>

#include "absl/strings/str_cat.h"

namespace signpost::server_internal {
namespace {

constexpr absl::Duration kMaxWait = absl::Seconds(30);
constexpr absl::Duration kDropEvery = absl::Seconds(5);

// Not guessed by another user of the machine.
int64_t NewSessionId() {
  std::random_device device;
  const uint64_t id = uint64_t{device()} << 32 | device();
  return static_cast<int64_t>(id >> 1) | 1;
}

absl::Status Stopped() { return absl::UnavailableError("the server is being stopped"); }

// The answer of a store that answers at once, or what goes to the client in its place.
template <typename Result, typename Call>
Result Ask(Lease& lease, Call call) {
  std::optional<Result> result;
  call(lease.store(), [&result](Result value) { result = std::move(value); });
  const absl::Status& status = [&]() -> const absl::Status& {
    if constexpr (std::is_same_v<Result, absl::Status>) {
      return *result;
    } else {
      return result->status();
    }
  }();
  if (!status.ok()) {
    if (lease.ended()) RefuseUnknownSession();
    Refuse(status);
  }
  return *std::move(result);
}

}  // namespace

RegistryHandler::RegistryHandler(std::shared_ptr<LocalCentre> centre,
                                 const RegistryServerOptions& options,
                                 std::shared_ptr<Executor> timers)
    : centre_(std::move(centre)), options_(options), timers_(std::move(timers)) {}

RegistryHandler::~RegistryHandler() { Stop(); }

std::shared_ptr<Lease> RegistryHandler::Find(int64_t session) const {
  {
    MutexLock lock(leases_->mutex);
    const auto it = leases_->by_session.find(session);
    if (it != leases_->by_session.end()) return it->second;
  }
  RefuseUnknownSession();
}

// The place that a session takes while it is being opened.
class RegistryHandler::Place {
 public:
  explicit Place(Leases& leases) : leases_(leases) {}
  ~Place() {
    MutexLock lock(leases_.mutex);
    --leases_.opening;
  }
  Place(const Place&) = delete;
  Place& operator=(const Place&) = delete;

 private:
  Leases& leases_;
};

void RegistryHandler::open(server_wire::Opened& opened, int32_t version, int64_t ttl_ms) {
  if (version != kProtocolVersion) {
    Refuse(absl::FailedPreconditionError(absl::StrCat(
        "this server speaks version ", kProtocolVersion, " of the protocol, not ", version)));
  }
  LeaseOptions options;
  options.ttl = std::clamp(absl::Milliseconds(ttl_ms), options_.min_ttl, options_.max_ttl);
  options.max_watches = options_.max_watches;
  const int64_t session = NewSessionId();
  absl::Status refused;
  {
    MutexLock lock(leases_->mutex);
    if (leases_->stopped) {
      refused = Stopped();
    } else if (leases_->by_session.size() + leases_->opening >= options_.max_sessions) {
      refused = absl::ResourceExhaustedError(
          absl::StrCat("the server takes ", options_.max_sessions, " clients"));
    } else {
      ++leases_->opening;
    }
  }
  if (!refused.ok()) Refuse(refused);
  // Its place is given back however this ends; counted twice for a moment at most.
  const Place place(*leases_);
  // Not under the lock: it waits for the centre, and everyone else would wait for it.
  const std::shared_ptr<Lease> lease =
      Lease::Open(centre_, options, timers_, [weak = std::weak_ptr<Leases>(leases_), session] {
        const auto leases = weak.lock();
        if (leases == nullptr) return;
        std::shared_ptr<Lease> ended;  // destroyed without the lock
        MutexLock erase(leases->mutex);
        const auto it = leases->by_session.find(session);
        if (it == leases->by_session.end()) return;
        ended = std::move(it->second);
        leases->by_session.erase(it);
      });
  {
    MutexLock lock(leases_->mutex);
    // One that has ended already would never be taken out.
    if (leases_->stopped) {
      refused = Stopped();
    } else if (!lease->ended()) {
      leases_->by_session[session] = lease;
    }
  }
  if (!refused.ok()) {
    lease->End();
    Refuse(refused);
  }
  opened.session = session;
  opened.ttl_ms = absl::ToInt64Milliseconds(options.ttl);
}

void RegistryHandler::close(int64_t session) {
  std::shared_ptr<Lease> lease;
  {
    MutexLock lock(leases_->mutex);
    const auto it = leases_->by_session.find(session);
    if (it == leases_->by_session.end()) return;
    lease = it->second;
  }
  lease->End();
}

void RegistryHandler::get(server_wire::Value& value, int64_t session, const std::string& key) {
  const auto lease = Find(session);
  value = ToWire(*Ask<absl::StatusOr<StoreValue>>(
      *lease, [&](Store& store, auto done) { store.Get(key, CallOptions(), std::move(done)); }));
}

int64_t RegistryHandler::put(int64_t session, const std::string& key, const std::string& value) {
  const auto lease = Find(session);
  return *Ask<absl::StatusOr<int64_t>>(*lease, [&](Store& store, auto done) {
    store.Put(key, value, CallOptions(), std::move(done));
  });
}

int64_t RegistryHandler::bind(int64_t session, const std::string& key, const std::string& value) {
  const auto lease = Find(session);
  return *Ask<absl::StatusOr<int64_t>>(*lease, [&](Store& store, auto done) {
    store.CreateSessionBound(key, value, absl::InfiniteDuration(), CallOptions(), std::move(done));
  });
}

int64_t RegistryHandler::compareAndSet(int64_t session, const std::string& key,
                                       const std::string& value, int64_t expected) {
  const auto lease = Find(session);
  return *Ask<absl::StatusOr<int64_t>>(*lease, [&](Store& store, auto done) {
    store.CompareAndSet(key, value, expected, CallOptions(), std::move(done));
  });
}

void RegistryHandler::remove(int64_t session, const std::string& key, int64_t expected) {
  const auto lease = Find(session);
  Ask<absl::Status>(*lease, [&](Store& store, auto done) {
    store.Delete(key, expected, CallOptions(), std::move(done));
  }).IgnoreError();  // Ask has refused it
}

bool RegistryHandler::exists(int64_t session, const std::string& key) {
  const auto lease = Find(session);
  return *Ask<absl::StatusOr<bool>>(
      *lease, [&](Store& store, auto done) { store.Exists(key, CallOptions(), std::move(done)); });
}

void RegistryHandler::children(std::vector<server_wire::Child>& children, int64_t session,
                               const std::string& prefix) {
  const auto lease = Find(session);
  std::vector<StoreChild> found = *Ask<absl::StatusOr<std::vector<StoreChild>>>(
      *lease, [&](Store& store, auto done) { store.List(prefix, CallOptions(), std::move(done)); });
  size_t bytes = 0;
  for (const StoreChild& child : found) {
    bytes += kItemBytes + child.name.size() + child.data.value.size();
  }
  if (bytes > kMaxAnswerBytes) {
    Refuse(absl::ResourceExhaustedError(absl::StrCat(prefix, ": its children have ", bytes,
                                                     " bytes; the limit is ", kMaxAnswerBytes)));
  }
  children.reserve(found.size());
  for (StoreChild& child : found) children.push_back(ToWire(std::move(child)));
}

void RegistryHandler::watch(int64_t session, int64_t watch, bool tree, const std::string& key) {
  const auto lease = Find(session);
  const absl::Status status = lease->Watch(watch, tree, key);
  if (lease->ended()) RefuseUnknownSession();
  if (!status.ok()) Refuse(status);
}

void RegistryHandler::unwatch(int64_t session, int64_t watch) { Find(session)->Unwatch(watch); }

void RegistryHandler::poll(std::vector<server_wire::Event>& events, int64_t session,
                           int64_t acknowledged, int64_t wait_ms, bool fetch) {
  const auto lease = Find(session);
  const absl::Duration wait =
      std::clamp(absl::Milliseconds(wait_ms), absl::ZeroDuration(), kMaxWait);
  std::optional<std::vector<WatchEvent>> told = lease->Poll(acknowledged, wait, fetch);
  if (!told.has_value()) RefuseUnknownSession();
  events.reserve(told->size());
  for (WatchEvent& event : *told) events.push_back(ToWire(std::move(event)));
}

void RegistryHandler::DropEndedLater() {
  timers_->PostAfter(kDropEvery, [weak = weak_from_this()] {
    const auto self = weak.lock();
    if (self == nullptr) return;
    self->centre_->DropEnded();
    self->DropEndedLater();
  });
}

size_t RegistryHandler::session_count() const {
  MutexLock lock(leases_->mutex);
  return leases_->by_session.size();
}

void RegistryHandler::Stop() {
  std::vector<std::shared_ptr<Lease>> leases;
  {
    MutexLock lock(leases_->mutex);
    leases_->stopped = true;
    for (const auto& [session, lease] : leases_->by_session) leases.push_back(lease);
  }
  for (const auto& lease : leases) lease->End(Lease::Keys::kLeftBehind);
}

}  // namespace signpost::server_internal
