#include "signpost/registry/zookeeper/zookeeper_calls.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "signpost/common/log.h"
#include "signpost/common/status.h"
#include "signpost/registry/store/store_key.h"

namespace signpost {
namespace zookeeper_internal {
namespace {

using Kind = NodeRequest::Kind;

// How often a write that met another writer is tried.
constexpr int kTries = 5;

NodeRequest Read(Kind kind, const std::string& path) {
  NodeRequest request;
  request.kind = kind;
  request.path = path;
  return request;
}

NodeRequest Write(Kind kind, const std::string& path, std::string value, int32_t version = -1,
                  NodeMode mode = NodeMode::kPersistent) {
  NodeRequest request;
  request.kind = kind;
  request.path = path;
  request.value = std::move(value);
  request.version = version;
  request.mode = mode;
  return request;
}

bool Lost(const Reply& reply) { return reply.code == absl::StatusCode::kUnavailable; }

absl::Status Aborted(const std::string& key, absl::string_view why) {
  return absl::AbortedError(absl::StrCat("zookeeper ", key, ": ", why));
}

}  // namespace

std::string ParentOf(const std::string& key) {
  const size_t slash = key.rfind('/');
  return slash == 0 || slash == std::string::npos ? "/" : key.substr(0, slash);
}

std::string ChildOf(const std::string& prefix, const std::string& name) {
  return prefix == "/" ? absl::StrCat("/", name) : absl::StrCat(prefix, "/", name);
}

StoreValue ToValue(Reply reply, int64_t session) {
  StoreValue value;
  value.value = std::move(reply.value);
  value.version = reply.stat.modified;
  value.session_bound = reply.stat.owner != 0;
  value.owned = value.session_bound && reply.stat.owner == session;
  return value;
}

void ZookeeperCalls::Remember(std::shared_ptr<CallEnd> call, const std::string& key,
                              const CallOptions& options) {
  call->key = key;
  call->cancel = options.cancel;
  open_.emplace(call.get(), call);
  if (absl::Status status = CheckStorePrefix(key); !status.ok())
    return call->Fail(Annotate(status, "zookeeper"));
  if (session_->closed()) {
    return call->Fail(
        absl::CancelledError(absl::StrCat("zookeeper ", key, ": the store is closed")));
  }
  if (session_->refused()) return call->Fail(Annotate(session_->WhyNotConnected(), key));
  if (options.cancel.cancelled()) {
    return call->Fail(absl::CancelledError(absl::StrCat("zookeeper ", key, ": cancelled")));
  }
  if (options.timeout <= absl::ZeroDuration()) {
    return call->Fail(
        absl::DeadlineExceededError(absl::StrCat("zookeeper ", key, ": no time was given")));
  }
  std::weak_ptr<CallEnd> weak = call;
  call->timer = executor_->PostAfter(options.timeout, [weak, key, session = session_] {
    auto late = weak.lock();
    if (late == nullptr) return;
    late->timer = 0;
    late->Fail(absl::DeadlineExceededError(
        session->connected()
            ? absl::StrCat("zookeeper ", key, ": no answer in time")
            : absl::StrCat(session->WhyNotConnected().message(), " (wanted: ", key, ")")));
  });
  call->cancel_id = call->cancel.OnCancel([weak, key, executor = executor_] {
    executor->Post([weak, key] {
      if (auto given_up = weak.lock()) {
        given_up->Fail(absl::CancelledError(absl::StrCat("zookeeper ", key, ": cancelled")));
      }
    });
  });
}

void ZookeeperCalls::Forget(CallEnd* call) {
  if (call->timer != 0) executor_->Cancel(call->timer);
  call->cancel.RemoveCallback(call->cancel_id);
  open_.erase(call);
  // It may wait for a connection. In a task: whoever ends it may be reading it.
  if (!session_->connected()) {
    executor_->Post([session = session_] { session->ReleaseEnded(); });
  }
}

void ZookeeperCalls::FailAll(const absl::Status& why) {
  const auto open = std::exchange(open_, {});
  for (const auto& [raw, call] : open) call->Fail(Annotate(why, call->key));
}

Flow ZookeeperCalls::Get(std::shared_ptr<Call<StoreValue>> call) {
  auto self = shared_from_this();
  while (co_await session_->WhenConnected({call, &call->ended})) {
    Reply reply = co_await session_->Do(Read(Kind::kGet, call->key));
    if (Lost(reply)) continue;
    if (!reply.ok()) {
      call->Fail(reply.ToStatus(call->key));
      co_return;
    }
    call->End(ToValue(std::move(reply), session_->session_id()));
  }
}

Flow ZookeeperCalls::Exists(std::shared_ptr<Call<bool>> call) {
  auto self = shared_from_this();
  while (co_await session_->WhenConnected({call, &call->ended})) {
    Reply reply = co_await session_->Do(Read(Kind::kExists, call->key));
    if (Lost(reply)) continue;
    if (reply.ok() || reply.missing()) {
      call->End(reply.ok());
    } else {
      call->Fail(reply.ToStatus(call->key));
    }
  }
}

Flow ZookeeperCalls::List(std::shared_ptr<Call<std::vector<StoreChild>>> call) {
  auto self = shared_from_this();
  while (co_await session_->WhenConnected({call, &call->ended})) {
    Reply names = co_await session_->Do(Read(Kind::kChildren, call->key));
    if (Lost(names)) continue;
    if (!names.ok() && !names.missing()) {
      call->Fail(names.ToStatus(call->key));
      co_return;
    }
    std::sort(names.names.begin(), names.names.end());
    std::vector<std::string> paths;
    paths.reserve(names.names.size());
    for (const std::string& name : names.names) paths.push_back(ChildOf(call->key, name));
    std::vector<Reply> replies = co_await session_->GetMany(std::move(paths), false);
    std::vector<StoreChild> children;
    children.reserve(replies.size());
    bool lost = false;
    for (size_t i = 0; i < replies.size(); ++i) {
      if (replies[i].missing()) continue;  // gone since the names were read
      lost = lost || Lost(replies[i]);
      if (!replies[i].ok()) {
        // One that is not for us must not hide the others, nor itself: its name is known.
        const absl::Status failure = replies[i].ToStatus(ChildOf(call->key, names.names[i]));
        if (!Lost(replies[i])) {
          Log(LogLevel::kWarning, absl::StrCat(failure.message(), "; its value is left out"));
        }
        StoreChild child;
        child.name = std::move(names.names[i]);
        child.exists = false;
        children.push_back(std::move(child));
        continue;
      }
      StoreChild child;
      child.name = std::move(names.names[i]);
      child.data = ToValue(std::move(replies[i]), session_->session_id());
      children.push_back(std::move(child));
    }
    if (!lost) call->End(std::move(children));
  }
}

// Awaits MakeParents.
class ZookeeperCalls::Parents {
 public:
  Parents(std::shared_ptr<ZookeeperCalls> calls, std::string key, NodeMode mode)
      : calls_(std::move(calls)), key_(std::move(key)), mode_(mode) {}
  bool await_ready() const { return false; }
  void await_suspend(std::coroutine_handle<> handle) {
    auto calls = calls_;
    calls->MakeParents(key_, mode_, [this, resume = Resume(handle)](Reply reply) mutable {
      reply_ = std::move(reply);
      resume.Run();
    });
  }
  Reply await_resume() { return std::move(reply_); }

 private:
  std::shared_ptr<ZookeeperCalls> calls_;
  std::string key_;
  NodeMode mode_;
  Reply reply_;
};

Flow ZookeeperCalls::MakeParents(std::string key, NodeMode mode,
                                 ZookeeperSession::ReplyCallback done) {
  auto self = shared_from_this();
  // From the nearest ancestor upwards until one is there or can be made, then down again.
  std::vector<std::string> missing;
  std::string parent = ParentOf(key);
  Reply reply;
  if (parent != "/") missing.push_back(parent);
  int tries = 0;
  while (!missing.empty() && ++tries < 64) {
    const std::string path = missing.back();
    const NodeMode as = path == parent ? mode : NodeMode::kPersistent;
    reply = co_await session_->Do(Write(Kind::kCreate, path, "", -1, as));
    if (reply.code == absl::StatusCode::kUnimplemented && as == NodeMode::kContainer) {
      mode = NodeMode::kPersistent;  // a server before 3.5
      continue;
    }
    if (reply.ok() || reply.code == absl::StatusCode::kAlreadyExists) {
      missing.pop_back();
      reply = Reply();
    } else if (reply.missing() && ParentOf(path) != "/") {
      missing.push_back(ParentOf(path));
    } else {
      // The fault is with a folder above the key.
      reply.text = absl::StrCat(path, ": ", reply.text);
      break;
    }
  }
  std::move(done)(std::move(reply));
}

Flow ZookeeperCalls::Put(std::shared_ptr<Call<int64_t>> call, std::string value) {
  auto self = shared_from_this();
  if (!co_await session_->WhenConnected({call, &call->ended})) co_return;
  for (int i = 0; i < kTries && !call->ended; ++i) {
    Reply reply = co_await session_->Do(Write(Kind::kSet, call->key, value));
    if (reply.ok() && reply.stat.owner != 0) {
      // Bound to some session: a persistent one takes its place.
      Reply gone = co_await session_->Do(Write(Kind::kDelete, call->key, ""));
      reply = std::move(gone);
      if (reply.ok()) reply.code = absl::StatusCode::kNotFound;
    }
    if (reply.missing()) reply = co_await session_->Do(Write(Kind::kCreate, call->key, value));
    if (reply.missing()) {
      Reply made = co_await Parents(self, call->key, NodeMode::kPersistent);
      if (!made.ok()) {
        call->Fail(made.ToStatus(call->key));
        co_return;
      }
      continue;
    }
    if (reply.code == absl::StatusCode::kAlreadyExists) continue;
    if (reply.ok()) {
      call->End(reply.stat.modified);
    } else {
      call->Fail(reply.ToStatus(call->key));
    }
    co_return;
  }
  call->Fail(Aborted(call->key, "it comes and goes while it is written"));
}

Flow ZookeeperCalls::CreateSessionBound(std::shared_ptr<Call<int64_t>> call, std::string value,
                                        ParentKind kind) {
  auto self = shared_from_this();
  const NodeMode folder =
      kind == ParentKind::kContainer ? NodeMode::kContainer : NodeMode::kPersistent;
  for (int i = 0; i < kTries;) {
    if (!co_await session_->WhenConnected({call, &call->ended})) co_return;
    Reply made =
        co_await session_->Do(Write(Kind::kCreate, call->key, value, -1, NodeMode::kEphemeral));
    if (Lost(made)) continue;
    if (made.ok()) {
      call->End(made.stat.modified);
      co_return;
    }
    ++i;
    if (made.missing()) {
      // The last of a container's children may go, and the container with it, before ours is there.
      Reply parents = co_await Parents(self, call->key, folder);
      if (parents.ok() || Lost(parents)) continue;
      call->Fail(parents.ToStatus(call->key));
      co_return;
    }
    if (made.code != absl::StatusCode::kAlreadyExists) {
      call->Fail(made.ToStatus(call->key));
      co_return;
    }
    Reply there = co_await session_->Do(Read(Kind::kGet, call->key));
    if (there.missing() || Lost(there)) continue;
    if (!there.ok()) {
      call->Fail(there.ToStatus(call->key));
      co_return;
    }
    if (there.stat.owner != 0 && there.stat.owner == session_->session_id()) {
      // Ours: no gap.
      if (there.value == value) {
        call->End(there.stat.modified);
        co_return;
      }
      Reply set = co_await session_->Do(Write(Kind::kSet, call->key, value, there.stat.version));
      if (set.ok()) call->End(set.stat.modified);
      if (set.ok() || set.missing() || Lost(set) || set.code == absl::StatusCode::kAborted)
        continue;
      call->Fail(set.ToStatus(call->key));
      co_return;
    }
    // Of an older session of ours, or of somebody else: it would go when that session does. In one
    // step, so that nobody sees a list without it.
    Reply gone = co_await session_->Do(Write(Kind::kReplace, call->key, value, there.stat.version));
    if (gone.ok() || gone.missing() || Lost(gone) || gone.code == absl::StatusCode::kAborted)
      continue;
    call->Fail(gone.ToStatus(call->key));
    co_return;
  }
  call->Fail(Aborted(call->key, "another session writes it again and again"));
}

Flow ZookeeperCalls::CompareAndSet(std::shared_ptr<Call<int64_t>> call, std::string value,
                                   int64_t expected) {
  auto self = shared_from_this();
  if (!co_await session_->WhenConnected({call, &call->ended})) co_return;
  if (expected != Store::kAbsent) {
    // Versions are zxids, which no other write ever has again; the write itself goes by the
    // counter that was read together with it.
    Reply stat = co_await session_->Do(Read(Kind::kExists, call->key));
    if (!stat.ok()) {
      call->Fail(stat.ToStatus(call->key));
      co_return;
    }
    if (expected != Store::kAnyVersion && stat.stat.modified != expected) {
      call->Fail(Aborted(call->key, "the version is not the expected one"));
      co_return;
    }
    Reply reply =
        co_await session_->Do(Write(Kind::kSet, call->key, std::move(value), stat.stat.version));
    if (reply.ok()) {
      call->End(reply.stat.modified);
    } else {
      call->Fail(reply.ToStatus(call->key));
    }
    co_return;
  }
  for (int i = 0; i < kTries && !call->ended; ++i) {
    Reply reply = co_await session_->Do(Write(Kind::kCreate, call->key, value));
    if (reply.missing()) {
      Reply parents = co_await Parents(self, call->key, NodeMode::kPersistent);
      if (parents.ok()) continue;
      reply = std::move(parents);
    }
    if (reply.ok()) {
      call->End(reply.stat.modified);
    } else {
      call->Fail(reply.ToStatus(call->key));
    }
    co_return;
  }
  call->Fail(Aborted(call->key, "its parent comes and goes"));
}

Flow ZookeeperCalls::Delete(std::shared_ptr<Call<bool>> call, int64_t expected) {
  auto self = shared_from_this();
  if (!co_await session_->WhenConnected({call, &call->ended})) co_return;
  int32_t version = -1;
  if (expected != Store::kAnyVersion) {
    Reply stat = co_await session_->Do(Read(Kind::kExists, call->key));
    if (!stat.ok()) {
      call->Fail(stat.ToStatus(call->key));
      co_return;
    }
    if (stat.stat.modified != expected) {
      call->Fail(Aborted(call->key, "the version is not the expected one"));
      co_return;
    }
    version = stat.stat.version;
  }
  Reply reply = co_await session_->Do(Write(Kind::kDelete, call->key, "", version));
  if (reply.ok()) {
    call->End(true);
  } else {
    call->Fail(reply.ToStatus(call->key));
  }
}

}  // namespace zookeeper_internal
}  // namespace signpost
