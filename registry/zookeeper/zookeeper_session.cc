#include "signpost/registry/zookeeper/zookeeper_session.h"

#include <unistd.h>

#include <deque>

#include "absl/strings/str_cat.h"
#include "signpost/common/log.h"
#include "zookeeper.h"

namespace signpost {
namespace zookeeper_internal {
namespace {

absl::StatusCode ToCode(int rc) {
  switch (rc) {
    case ZOK:
      return absl::StatusCode::kOk;
    case ZNONODE:
      return absl::StatusCode::kNotFound;
    case ZNODEEXISTS:
      return absl::StatusCode::kAlreadyExists;
    case ZBADVERSION:
      return absl::StatusCode::kAborted;
    case ZNOAUTH:
    case ZAUTHFAILED:
      return absl::StatusCode::kPermissionDenied;
    case ZCONNECTIONLOSS:
    case ZOPERATIONTIMEOUT:
    case ZSESSIONEXPIRED:
    case ZSESSIONMOVED:
    case ZINVALIDSTATE:
    case ZCLOSING:
      return absl::StatusCode::kUnavailable;
    case ZNOTEMPTY:
      return absl::StatusCode::kFailedPrecondition;
    case ZBADARGUMENTS:
    case ZINVALIDACL:
    case ZNOCHILDRENFOREPHEMERALS:
      return absl::StatusCode::kInvalidArgument;
    case ZUNIMPLEMENTED:
      return absl::StatusCode::kUnimplemented;
    default:
      return absl::StatusCode::kInternal;
  }
}

Reply ErrorReply(int rc) {
  Reply reply;
  reply.code = ToCode(rc);
  // ZNOAUTH: Finish knows more about it.
  if (rc != ZOK && rc != ZNOAUTH) reply.text = rc == ZAUTHFAILED ? kLoginRefused : zerror(rc);
  return reply;
}

// What a request wants to do to its node, in the words of an error.
const char* Verb(NodeRequest::Kind kind) {
  switch (kind) {
    case NodeRequest::Kind::kCreate:
      return "create";
    case NodeRequest::Kind::kSet:
      return "write";
    case NodeRequest::Kind::kDelete:
      return "delete";
    case NodeRequest::Kind::kReplace:
      return "replace";
    default:
      return "read";
  }
}

NodeStat ToStat(const Stat& stat) {
  return {stat.czxid, stat.mzxid, stat.version, stat.ephemeralOwner};
}

// How long requests under way may take to end when a handle is closed.
constexpr absl::Duration kDrainTimeout = absl::Milliseconds(500);

void OnLibraryLog(const char* message) { Log(LogLevel::kDebug, message); }

}  // namespace

absl::Status Reply::ToStatus(const std::string& path) const {
  if (ok()) return absl::OkStatus();
  return absl::Status(code, absl::StrCat("zookeeper ", path, ": ", text));
}

// One open request. The library holds a pointer to it until it calls back or is closed.
struct ZookeeperSession::Slot {
  // Of a transaction; the library writes there until it calls back.
  struct Results {
    zoo_op_result_t each[2];
    std::string path;
  };
  Handle* handle = nullptr;
  NodeRequest::Kind kind = NodeRequest::Kind::kGet;
  ReplyCallback done;
  std::unique_ptr<Results> results;
  bool used = false;
};

struct ZookeeperSession::Handle {
  zhandle_t* zoo = nullptr;
  uint64_t generation = 0;
  std::weak_ptr<ZookeeperSession> session;
  std::shared_ptr<Executor> executor;
  std::string credentials;
  Mutex mutex;
  CondVar changed;
  size_t open ABSL_GUARDED_BY(mutex) = 0;  // slots in use
  std::deque<Slot> slots ABSL_GUARDED_BY(mutex);
  std::vector<Slot*> free ABSL_GUARDED_BY(mutex);

  Slot* NewSlot(NodeRequest::Kind kind, ReplyCallback done) {
    MutexLock lock(mutex);
    if (free.empty()) {
      slots.emplace_back();
      free.push_back(&slots.back());
    }
    Slot* slot = free.back();
    free.pop_back();
    slot->handle = this;
    slot->kind = kind;
    slot->done = std::move(done);
    slot->used = true;
    ++open;
    return slot;
  }

  ReplyCallback Take(Slot* slot) {
    MutexLock lock(mutex);
    ReplyCallback done = std::move(slot->done);
    slot->done = nullptr;
    slot->results = nullptr;
    slot->used = false;
    free.push_back(slot);
    if (--open == 0) changed.SignalAll();
    return done;
  }

  // Until no request is open, at most `timeout`.
  void Drain(absl::Duration timeout) {
    const absl::Duration end = Clock::Real().MonotonicNow() + timeout;
    MutexLock lock(mutex);
    while (open > 0) {
      const absl::Duration left = end - Clock::Real().MonotonicNow();
      if (left <= absl::ZeroDuration()) return;
      changed.WaitFor(mutex, left);
    }
  }

  std::vector<ReplyCallback> TakeAll() {
    MutexLock lock(mutex);
    std::vector<ReplyCallback> all;
    for (Slot& slot : slots) {
      if (slot.used) all.push_back(std::move(slot.done));
      slot.used = false;
    }
    return all;
  }
};

// What the library calls, on its own threads: copy and post.
struct ZookeeperSession::Callbacks {
  static void Finish(const void* data, Reply reply) {
    auto* slot = static_cast<Slot*>(const_cast<void*>(data));
    Handle* handle = slot->handle;
    if (!reply.ok() && reply.text.empty()) {
      reply.text = WhyDenied(Verb(slot->kind), handle->credentials);
    }
    handle->executor->Post([done = handle->Take(slot), reply = std::move(reply)]() mutable {
      std::move(done)(std::move(reply));
    });
  }

  static void OnVoid(int rc, const void* data) { Finish(data, ErrorReply(rc)); }

  static void OnStat(int rc, const Stat* stat, const void* data) {
    Reply reply = ErrorReply(rc);
    if (rc == ZOK && stat != nullptr) reply.stat = ToStat(*stat);
    Finish(data, std::move(reply));
  }

  static void OnValue(int rc, const char* value, int length, const Stat* stat, const void* data) {
    Reply reply = ErrorReply(rc);
    if (rc == ZOK) {
      if (value != nullptr && length > 0) reply.value.assign(value, static_cast<size_t>(length));
      if (stat != nullptr) reply.stat = ToStat(*stat);
    }
    Finish(data, std::move(reply));
  }

  static void OnNames(int rc, const String_vector* names, const void* data) {
    Reply reply = ErrorReply(rc);
    if (rc == ZOK && names != nullptr) {
      reply.names.assign(names->data, names->data + names->count);
    }
    Finish(data, std::move(reply));
  }

  static void OnCreated(int rc, const char*, const Stat* stat, const void* data) {
    OnStat(rc, stat, data);
  }

  static void OnAuth(int, const void*) {}

  static void OnEvent(zhandle_t* zoo, int type, int state, const char* path, void* user) {
    auto* handle = static_cast<Handle*>(user);
    const uint64_t generation = handle->generation;
    if (type == ZOO_SESSION_EVENT) {
      const clientid_t* id = zoo_client_id(zoo);
      handle->executor->Post([weak = handle->session, generation, state,
                              session = id == nullptr ? int64_t{0} : id->client_id] {
        if (auto self = weak.lock()) self->OnState(generation, state, session);
      });
      return;
    }
    NodeEvent event;
    if (type == ZOO_CREATED_EVENT) {
      event = NodeEvent::kCreated;
    } else if (type == ZOO_DELETED_EVENT) {
      event = NodeEvent::kDeleted;
    } else if (type == ZOO_CHANGED_EVENT) {
      event = NodeEvent::kChanged;
    } else if (type == ZOO_CHILD_EVENT) {
      event = NodeEvent::kChildren;
    } else {
      return;  // a watch that we removed
    }
    handle->executor->Post([weak = handle->session, generation, event, path = std::string(path)] {
      auto self = weak.lock();
      if (self == nullptr || self->closed()) return;
      {
        MutexLock lock(self->mutex_);
        if (generation != self->generation_) return;
      }
      self->events_.node(event, path);
    });
  }
};

std::shared_ptr<ZookeeperSession> ZookeeperSession::Prepare(SessionOptions options, Events events,
                                                            std::shared_ptr<Executor> executor) {
  return std::shared_ptr<ZookeeperSession>(
      new ZookeeperSession(std::move(options), std::move(events), std::move(executor)));
}

ZookeeperSession::ZookeeperSession(SessionOptions options, Events events,
                                   std::shared_ptr<Executor> executor)
    : options_(std::move(options)),
      acl_(!options_.credentials.empty(), options_.readers),
      events_(std::move(events)),
      executor_(std::move(executor)),
      worker_(NewSerialExecutor("zk-handles")),
      pid_(getpid()),
      backoff_(BackoffOptions{absl::Milliseconds(200), absl::Seconds(10)}) {}

ZookeeperSession::~ZookeeperSession() = default;

bool ZookeeperSession::same_process() const { return getpid() == pid_; }

void ZookeeperSession::OpenHandle() {
  worker_->Post(
      [worker = worker_, weak = weak_from_this(), options = options_, executor = executor_] {
        auto handle = std::make_unique<Handle>();
        {
          auto self = weak.lock();
          if (self == nullptr || self->closed()) return;
          MutexLock lock(self->mutex_);
          handle->generation = ++self->generation_;
        }
        const uint64_t generation = handle->generation;
        handle->session = weak;
        handle->executor = executor;
        handle->credentials = options.credentials;
        // Names are resolved in here, so it may take long.
        handle->zoo = zookeeper_init2(options.servers.c_str(), &Callbacks::OnEvent,
                                      static_cast<int>(absl::ToInt64Milliseconds(options.timeout)),
                                      nullptr, handle.get(), 0, &OnLibraryLog);
        auto self = weak.lock();
        if (handle->zoo == nullptr) {
          if (self == nullptr) return;
          Log(LogLevel::kWarning, absl::StrCat("zookeeper ", options.servers,
                                               ": cannot open: errno ", errno, "; trying again"));
          executor->Post([weak] {
            auto again = weak.lock();
            if (again == nullptr || again->closed()) return;
            again->executor_->PostAfter(again->backoff_.Next(), [weak] {
              auto later = weak.lock();
              if (later != nullptr && !later->closed()) later->OpenHandle();
            });
          });
          return;
        }
        if (!options.credentials.empty()) {
          zoo_add_auth(handle->zoo, "digest", options.credentials.data(),
                       static_cast<int>(options.credentials.size()), &Callbacks::OnAuth, nullptr);
        }
        if (self == nullptr) {
          CloseHandle(std::move(handle), "closed");
          return;
        }
        {
          MutexLock lock(self->mutex_);
          if (!self->closed()) self->handle_ = std::move(handle);
        }
        if (handle != nullptr) {
          CloseHandle(std::move(handle), "closed");
          return;
        }
        // It may have connected before the handle was here to be used.
        executor->Post([weak, generation] {
          if (auto opened = weak.lock()) opened->OnOpened(generation);
        });
      });
}

void ZookeeperSession::CloseHandle(std::unique_ptr<Handle> handle, const char* why) {
  // The library leaks what is open when it is closed. A server that serves answers at once.
  if (zoo_state(handle->zoo) == ZOO_CONNECTED_STATE) handle->Drain(kDrainTimeout);
  // After this no callback of the handle runs; what it still owed is answered here.
  zookeeper_close(handle->zoo);
  for (ReplyCallback& done : handle->TakeAll()) {
    Reply reply;
    reply.code = absl::StatusCode::kUnavailable;
    reply.text = why;
    handle->executor->Post([done = std::move(done), reply = std::move(reply)]() mutable {
      std::move(done)(std::move(reply));
    });
  }
}

void ZookeeperSession::Replace() {
  std::unique_ptr<Handle> old;
  {
    MutexLock lock(mutex_);
    old = std::move(handle_);
  }
  if (old != nullptr) {
    // The task keeps the thread until the handle is closed.
    worker_->Post([worker = worker_, old = std::move(old)]() mutable {
      CloseHandle(std::move(old), "session expired");
    });
  }
  OpenHandle();
}

void ZookeeperSession::OnOpened(uint64_t generation) {
  int state = 0;
  int64_t session = 0;
  {
    MutexLock lock(mutex_);
    if (generation != generation_ || handle_ == nullptr) return;
    // Now, not when the task was posted: what it told since must not be undone.
    state = zoo_state(handle_->zoo);
    session = zoo_client_id(handle_->zoo)->client_id;
  }
  OnState(generation, state, session);
}

void ZookeeperSession::OnState(uint64_t generation, int state, int64_t session) {
  if (closed()) return;
  {
    MutexLock lock(mutex_);
    // Before the handle is here nothing can be sent; its state is told again then.
    if (generation != generation_ || handle_ == nullptr) return;
  }
  std::vector<SessionEvent> events;
  refused_ = state == ZOO_AUTH_FAILED_STATE;
  if (state == ZOO_CONNECTED_STATE) {
    KeepOn();
    backoff_.Reset();
    events = tracker_.Connected(session);
    session_id_ = tracker_.session();
  } else if (state == ZOO_EXPIRED_SESSION_STATE) {
    // The library has forgotten the id by now; the generation says which session it was.
    events = tracker_.Expired(tracker_.session());
    KeepOn();
    Replace();
  } else {
    if (refused_) Log(LogLevel::kError, WhyNotConnected().message());
    events = tracker_.Disconnected();
    GiveUpLater();
  }
  connected_ = tracker_.connected();
  for (SessionEvent event : events) events_.session(event);
  if (refused_) events_.refused(WhyNotConnected());
  if (connected_) ReleaseWaiters();
}

void ZookeeperSession::PostReply(ReplyCallback done, Reply reply) {
  executor_->Post([done = std::move(done), reply = std::move(reply)]() mutable {
    std::move(done)(std::move(reply));
  });
}

void ZookeeperSession::Start(NodeRequest request, ReplyCallback done) {
  using Kind = NodeRequest::Kind;
  const size_t size = request.path.size() + request.value.size();
  if (size > kRequestLimit) {
    Reply reply;
    reply.code = absl::StatusCode::kResourceExhausted;
    reply.text = absl::StrCat("a request of ", size, " bytes is above the limit of ", kRequestLimit,
                              " bytes (jute.maxbuffer of the server)");
    return PostReply(std::move(done), std::move(reply));
  }
  MutexLock lock(mutex_);
  if (handle_ == nullptr) return PostReply(std::move(done), ErrorReply(ZCLOSING));
  zhandle_t* zoo = handle_->zoo;
  Slot* slot = handle_->NewSlot(request.kind, std::move(done));
  const char* path = request.path.c_str();
  const int length = static_cast<int>(request.value.size());
  const int watch = request.watch ? 1 : 0;
  int rc = ZBADARGUMENTS;
  switch (request.kind) {
    case Kind::kGet:
      rc = zoo_aget(zoo, path, watch, &Callbacks::OnValue, slot);
      break;
    case Kind::kExists:
      rc = zoo_aexists(zoo, path, watch, &Callbacks::OnStat, slot);
      break;
    case Kind::kChildren:
      rc = zoo_aget_children(zoo, path, watch, &Callbacks::OnNames, slot);
      break;
    case Kind::kCreate: {
      const int mode = request.mode == NodeMode::kEphemeral   ? ZOO_EPHEMERAL
                       : request.mode == NodeMode::kContainer ? ZOO_CONTAINER
                                                              : ZOO_PERSISTENT;
      rc = zoo_acreate2(zoo, path, request.value.data(), length, acl_.get(), mode,
                        &Callbacks::OnCreated, slot);
      break;
    }
    case Kind::kSet:
      rc = zoo_aset(zoo, path, request.value.data(), length, request.version, &Callbacks::OnStat,
                    slot);
      break;
    case Kind::kDelete:
      rc = zoo_adelete(zoo, path, request.version, &Callbacks::OnVoid, slot);
      break;
    case Kind::kReplace: {
      slot->results = std::make_unique<Slot::Results>();
      slot->results->path.resize(request.path.size() + 1);
      zoo_op_t ops[2];
      zoo_delete_op_init(&ops[0], path, request.version);
      zoo_create_op_init(&ops[1], path, request.value.data(), length, acl_.get(), ZOO_EPHEMERAL,
                         slot->results->path.data(), static_cast<int>(slot->results->path.size()));
      rc = zoo_amulti(zoo, 2, ops, slot->results->each, &Callbacks::OnVoid, slot);
      break;
    }
    case Kind::kUnwatchData:
    case Kind::kUnwatchChildren:
      // The library takes the function itself in spite of the type it declares.
      rc = zoo_aremove_all_watches(
          zoo, path, request.kind == Kind::kUnwatchData ? ZWATCHTYPE_DATA : ZWATCHTYPE_CHILD, 0,
          reinterpret_cast<void_completion_t*>(&Callbacks::OnVoid), slot);
      break;
  }
  if (rc != ZOK) PostReply(handle_->Take(slot), ErrorReply(rc));
}

void ZookeeperSession::Close() {
  if (closed_.exchange(true)) return;
  connected_ = false;
  if (!same_process()) {
    // The handle's threads are the parent's, and so is the session: leave both alone.
    new std::shared_ptr<ZookeeperSession>(shared_from_this());
    return;
  }
  std::unique_ptr<Handle> old;
  {
    MutexLock lock(mutex_);
    old = std::move(handle_);
  }
  struct Gone {
    Mutex mutex;
    CondVar changed;
    bool done = false;
  };
  auto gone = std::make_shared<Gone>();
  worker_->Post([worker = worker_, old = std::move(old), gone]() mutable {
    if (old != nullptr) CloseHandle(std::move(old), "closed");
    MutexLock lock(gone->mutex);
    gone->done = true;
    gone->changed.SignalAll();
  });
  executor_->Post([self = shared_from_this()] { self->ReleaseWaiters(); });
  const absl::Duration end = Clock::Real().MonotonicNow() + absl::Seconds(5);
  MutexLock lock(gone->mutex);
  while (!gone->done) {
    const absl::Duration left = end - Clock::Real().MonotonicNow();
    if (left <= absl::ZeroDuration()) break;
    gone->changed.WaitFor(gone->mutex, left);
  }
}

}  // namespace zookeeper_internal
}  // namespace signpost
