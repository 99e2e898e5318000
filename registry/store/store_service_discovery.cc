#include "signpost/registry/store/store_service_discovery.h"

#include <optional>
#include <vector>

#include "absl/strings/str_cat.h"
#include "signpost/common/status.h"
#include "signpost/registry/store/instance_folder.h"

namespace signpost {
namespace {

using store_internal::InstanceFolder;

// Lost races of one Register; each means that the node came or went under our hands.
constexpr int kMaxRaces = 5;

struct Registration : std::enable_shared_from_this<Registration> {
  std::weak_ptr<Store> store;
  std::string path;
  std::string app;
  std::string value;
  absl::Duration ttl;
  std::optional<Deadline> deadline;
  DoneCallback done;
  int races = 0;

  void Finish(const absl::Status& status) {
    std::move(done)(Annotate(status, absl::StrCat("instance of ", app, " at ", path)));
  }

  void Step() {
    auto target = store.lock();
    if (target == nullptr) return Finish(absl::CancelledError("closed"));
    target->Get(path, deadline->Left(),
                [self = shared_from_this()](absl::StatusOr<StoreValue> there) {
                  self->OnRead(std::move(there));
                });
  }

  void OnRead(absl::StatusOr<StoreValue> there) {
    if (!there.ok() && !absl::IsNotFound(there.status())) return Finish(there.status());
    auto target = store.lock();
    if (target == nullptr) return Finish(absl::CancelledError("closed"));
    auto written = [self = shared_from_this()](absl::StatusOr<int64_t> version) {
      self->OnWritten(version.status());
    };
    if (there.ok() && there->owned) {
      // Ours: consumers should see a change, not a gap.
      if (there->value == value) return Finish(absl::OkStatus());
      target->CompareAndSet(path, value, there->version, deadline->Left(), std::move(written));
      return;
    }
    // Absent, or left by a session that is gone: ours must own it.
    target->CreateSessionBound(path, value, ttl, deadline->Left(), std::move(written));
  }

  void OnWritten(const absl::Status& status) {
    const bool race =
        absl::IsAborted(status) || absl::IsNotFound(status) || absl::IsAlreadyExists(status);
    if (race && ++races < kMaxRaces) return Step();
    Finish(status);
  }
};

}  // namespace

std::string StoreServiceDiscovery::FolderOf(const std::string& app) const {
  return absl::StrCat(layout_.instances, "/", app);
}

std::string StoreServiceDiscovery::PathOf(const ServiceInstance& instance) const {
  return absl::StrCat(FolderOf(instance.app), "/", instance.id());
}

void StoreServiceDiscovery::Register(const ServiceInstance& instance, const CallOptions& options,
                                     DoneCallback done) {
  auto registration = std::make_shared<Registration>();
  registration->done = std::move(done);
  registration->path = PathOf(instance);
  registration->app = instance.app;
  const absl::Status valid = instance.Validate();
  if (!valid.ok()) return registration->Finish(valid);
  registration->store = store_;
  registration->value = ToCuratorJson(instance);
  registration->ttl = session_ttl_;
  registration->deadline.emplace(clock_, options);
  registration->Step();
}

void StoreServiceDiscovery::Unregister(const ServiceInstance& instance, const CallOptions& options,
                                       DoneCallback done) {
  const std::string path = PathOf(instance);
  auto end = [done = std::move(done), path](absl::Status status) mutable {
    // kAborted: another session has taken it over since.
    const bool gone = absl::IsNotFound(status) || absl::IsAborted(status);
    std::move(done)(gone ? absl::OkStatus() : Annotate(status, path));
  };
  store_->Get(path, options,
              [weak = std::weak_ptr<Store>(store_), path, value = ToCuratorJson(instance),
               deadline = Deadline(clock_, options),
               end = std::move(end)](absl::StatusOr<StoreValue> there) mutable {
                if (!there.ok()) return std::move(end)(there.status());
                // Of the process that serves at this address now, unless it is what a session of
                // ours wrote that has ended since: a value has the time of its registration.
                if (there->session_bound && !there->owned && there->value != value) {
                  return std::move(end)(absl::OkStatus());
                }
                auto store = weak.lock();
                if (store == nullptr) return std::move(end)(absl::CancelledError("closed"));
                store->Delete(path, there->version, deadline.Left(), std::move(end));
              });
}

void StoreServiceDiscovery::ListApplications(const CallOptions& options, ListCallback done) {
  // With parameter `group` the other roots lie among the applications.
  std::vector<std::string> others = {layout_.mapping, layout_.metadata_java, layout_.config};
  const std::string root = layout_.instances;
  store_->List(root, options,
               [root, others = std::move(others),
                done = std::move(done)](absl::StatusOr<std::vector<StoreChild>> children) mutable {
                 if (!children.ok()) return std::move(done)(children.status());
                 std::vector<std::string> apps;
                 for (StoreChild& child : *children) {
                   const std::string path = absl::StrCat(root, "/", child.name);
                   bool other = false;
                   for (const std::string& taken : others) other = other || taken == path;
                   if (!other) apps.push_back(std::move(child.name));
                 }
                 std::move(done)(std::move(apps));
               });
}

void StoreServiceDiscovery::ListInstances(const std::string& app, const CallOptions& options,
                                          InstancesCallback done) {
  const std::string path = FolderOf(app);
  const absl::Status valid = ValidateAppName(app);
  if (!valid.ok()) return std::move(done)(valid);
  store_->List(
      path, options,
      [app, path,
       done = std::move(done)](absl::StatusOr<std::vector<StoreChild>> children) mutable {
        if (!children.ok()) {
          return std::move(done)(Annotate(children.status(), absl::StrCat("instances of ", app)));
        }
        TreeDelta delta;
        delta.added = *std::move(children);
        std::move(done)(InstanceFolder(app, path).Apply(delta).list);
      });
}

Subscription StoreServiceDiscovery::Watch(const std::string& app, WatchCallback on_change) {
  const std::string path = FolderOf(app);
  return store_->WatchTree(
      path, [app, folder = InstanceFolder(app, path),
             on_change = std::move(on_change)](absl::StatusOr<TreeDelta> delta) mutable {
        if (!delta.ok()) {
          on_change(Annotate(delta.status(), absl::StrCat("instances of ", app)));
          return;
        }
        on_change(folder.Apply(*delta));
      });
}

}  // namespace signpost
