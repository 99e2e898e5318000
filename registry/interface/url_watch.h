// One subscription to URLs: categories of one interface, or of all. Private to this folder.
//
// As Dubbo delivers them: everything once when all of it was heard of, then each category that
// changed, with an `empty://` URL for one that has none. A category that cannot be read is told as
// an error, holds up no other, and is delivered when it can. Of all interfaces, those that the root
// has at first are part of the first delivery; an interface that comes later is delivered when its
// categories were heard of. One whose folder goes is forgotten, after `empty://` for what it had.
//
// Each event costs what it changes, however many interfaces there are.
//
// Threads: all on the control executor.
#ifndef SIGNPOST_REGISTRY_INTERFACE_URL_WATCH_H_
#define SIGNPOST_REGISTRY_INTERFACE_URL_WATCH_H_

#include <cstddef>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "signpost/common/subscription.h"
#include "signpost/registry/interface/interface_subscriber.h"

namespace signpost::interface_internal {

class UrlWatch final : public InterfaceSubscription,
                       public CategoryWatch::Listener,
                       public std::enable_shared_from_this<UrlWatch> {
 public:
  // `owner` outlives this.
  UrlWatch(InterfaceSubscriber& owner, const Url& consumer,
           InterfaceRegistry::UrlsCallback on_urls);

  void Start() override;
  void Stop() override;
  void OnUrls(CategoryWatch& watch, const CategoryWatch::Changes& changes) override;

 private:
  struct Category {
    std::string name;
    std::shared_ptr<CategoryWatch> watch;
    bool heard = false;   // its URLs, or that they cannot be read
    bool failed = false;  // an error was told since

    bool readable() const { return watch->known() && watch->error().ok(); }
  };
  struct Interface {
    std::string child;  // of the root
    Url consumer;
    std::vector<Category> categories;
    size_t unheard = 0;  // categories
    bool told = false;
  };

  void OnRoot(absl::StatusOr<TreeDelta> delta);
  // `child` is `name` as the centre has it, encoded one way or another.
  void AddInterface(const std::string& child, const std::string& name);
  void RemoveInterface(const std::string& child, std::vector<Url>& urls);
  void Release(Interface& each);
  // To be told when all of it was heard of and some of it can be read.
  void CheckReady(const Interface& each);
  static bool HasMatch(const Url& consumer, const Category& category);
  bool IsProtected(const Category& category) const;
  void Append(const Url& consumer, const Category& category, std::vector<Url>& urls) const;
  // Delivers what is ready and was not told yet.
  void TellNew();

  InterfaceSubscriber& owner_;
  const Url consumer_;
  const std::vector<std::string> categories_;
  InterfaceRegistry::UrlsCallback on_urls_;
  Subscription root_;
  bool root_known_ = false;
  bool begun_ = false;  // the first delivery was made
  bool stopped_ = false;
  std::map<std::string, Interface> interfaces_;  // by child
  std::map<CategoryWatch*, Interface*> by_watch_;
  size_t unheard_ = 0;           // categories of all interfaces
  std::set<std::string> ready_;  // children that are not told yet
  std::set<std::string> skipped_;
};

}  // namespace signpost::interface_internal

#endif  // SIGNPOST_REGISTRY_INTERFACE_URL_WATCH_H_
