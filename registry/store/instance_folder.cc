#include "signpost/registry/store/instance_folder.h"

#include <algorithm>
#include <tuple>

#include "absl/strings/str_cat.h"
#include "signpost/common/log.h"

namespace signpost::store_internal {
namespace {

// dubbo-go does not tell the registration time; the start of the process is next best.
int64_t Age(const ServiceInstance& instance) {
  return std::max(instance.registration_time_ms, instance.timestamp_ms());
}

}  // namespace

void InstanceFolder::Forget(const std::string& name, const Node& node,
                            std::set<std::string>& touched) {
  if (node.instance == nullptr) return;
  const std::string id = node.instance->id();
  touched.insert(id);
  auto names = names_by_id_.find(id);
  if (names == names_by_id_.end()) return;
  names->second.erase(name);
  if (names->second.empty()) names_by_id_.erase(names);
}

void InstanceFolder::Remove(const std::string& name, std::set<std::string>& touched) {
  auto it = nodes_.find(name);
  if (it == nodes_.end()) return;
  Forget(name, it->second, touched);
  skipped_.erase(name);
  nodes_.erase(it);
}

void InstanceFolder::Set(const StoreChild& child, std::set<std::string>& touched) {
  auto [it, is_new] = nodes_.try_emplace(child.name);
  Node& node = it->second;
  if (!is_new && node.exists == child.exists && node.bytes == child.data.value) return;
  Forget(child.name, node, touched);
  node = Node{child.data.value, child.exists, nullptr, ""};
  if (!child.exists) {
    node.why = "a folder, or not to be read with these credentials";
  } else if (child.data.value.empty()) {
    node.why = "no data";
  } else {
    absl::StatusOr<ServiceInstance> parsed = FromCuratorJson(app_, child.data.value);
    if (parsed.ok()) {
      node.instance = std::make_shared<const ServiceInstance>(*std::move(parsed));
    } else {
      node.why = std::string(parsed.status().message());
    }
  }
  if (node.instance != nullptr) {
    const std::string id = node.instance->id();
    names_by_id_[id].insert(child.name);
    touched.insert(id);
    skipped_.erase(child.name);
    return;
  }
  // Only when it is news: not at each event.
  std::string& why = skipped_[child.name];
  if (why == node.why) return;
  why = node.why;
  Log(LogLevel::kWarning, absl::StrCat(path_, "/", child.name, ": skipped: ", why));
}

InstancePtr InstanceFolder::Newest(const std::string& id) const {
  auto names = names_by_id_.find(id);
  if (names == names_by_id_.end()) return nullptr;
  InstancePtr best;
  for (const std::string& name : names->second) {
    const InstancePtr& candidate = nodes_.at(name).instance;
    if (best == nullptr || Age(*candidate) > Age(*best)) best = candidate;
  }
  return best;
}

InstanceUpdate InstanceFolder::Apply(const TreeDelta& delta) {
  std::set<std::string> touched;
  for (const std::string& name : delta.removed) Remove(name, touched);
  for (const StoreChild& child : delta.added) Set(child, touched);
  for (const StoreChild& child : delta.changed) Set(child, touched);

  InstanceUpdate update;
  for (const std::string& id : touched) {
    auto it = current_.find(id);
    InstancePtr before = it == current_.end() ? nullptr : it->second;
    InstancePtr after = Newest(id);
    if (before == after) continue;
    if (after == nullptr) {
      update.delta.removed.push_back(std::move(before));
      current_.erase(it);
      continue;
    }
    if (before == nullptr) {
      update.delta.added.push_back(after);
    } else if (*before != *after || before->registration_time_ms != after->registration_time_ms) {
      update.delta.changed.push_back({std::move(before), after});
    } else {
      continue;  // the same again: what was handed out stays
    }
    current_[id] = std::move(after);
  }

  auto list = std::make_shared<InstanceList>();
  list->app = app_;
  list->version = ++version_;
  list->instances.reserve(current_.size());
  for (const auto& [id, instance] : current_) list->instances.push_back(instance);
  list->skipped.reserve(skipped_.size());
  for (const auto& [name, why] : skipped_) {
    list->skipped.push_back({absl::StrCat(path_, "/", name), why});
  }
  update.list = std::move(list);
  return update;
}

}  // namespace signpost::store_internal
