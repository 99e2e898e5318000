// The URLs of one category of one interface, watched once for all subscriptions. Private to this
// folder.
//
// A child's name is its URL: one that stays is not parsed again. A name that is no URL is skipped
// with one warning; the others count.
//
// Threads: all on the control executor.
// Ownership: the store must outlive this; make_shared it and call Start.
#ifndef SIGNPOST_REGISTRY_INTERFACE_CATEGORY_WATCH_H_
#define SIGNPOST_REGISTRY_INTERFACE_CATEGORY_WATCH_H_

#include <cstddef>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "signpost/common/subscription.h"
#include "signpost/common/url.h"
#include "signpost/registry/callback_guard.h"
#include "signpost/registry/store/store.h"

namespace signpost::interface_internal {

using registry_internal::CallbackGuard;

// A child name as a URL. kInvalidArgument: not one, or one without protocol.
absl::StatusOr<Url> DecodeNodeName(const std::string& name);

class CategoryWatch : public std::enable_shared_from_this<CategoryWatch> {
 public:
  // By node name. Empty when only the state has changed.
  struct Changes {
    std::vector<std::pair<std::string, Url>> added;
    std::vector<std::pair<std::string, Url>> removed;
  };
  class Listener {
   public:
    virtual ~Listener() = default;
    virtual void OnUrls(CategoryWatch& watch, const Changes& changes) = 0;
  };

  CategoryWatch(Store& store, CallbackGuard guard, std::string path)
      : store_(store), guard_(std::move(guard)), path_(std::move(path)) {}

  void Start();

  // Listeners come and go only in tasks of their own.
  void AddListener(Listener* listener) { listeners_.insert(listener); }
  void RemoveListener(Listener* listener) { listeners_.erase(listener); }
  bool has_listeners() const { return !listeners_.empty(); }

  const std::string& path() const { return path_; }
  // The first list is there.
  bool known() const { return known_; }
  // Why the list is not known for now.
  const absl::Status& error() const { return error_; }
  const std::map<std::string, Url>& urls() const { return urls_; }
  // Names that were parsed, ever.
  size_t parsed() const { return parsed_; }

 private:
  void OnDelta(absl::StatusOr<TreeDelta> delta);

  Store& store_;
  const CallbackGuard guard_;
  const std::string path_;
  Subscription subscription_;
  std::set<Listener*> listeners_;
  std::map<std::string, Url> urls_;
  std::set<std::string> skipped_;
  bool known_ = false;
  absl::Status error_;
  size_t parsed_ = 0;
};

}  // namespace signpost::interface_internal

#endif  // SIGNPOST_REGISTRY_INTERFACE_CATEGORY_WATCH_H_
