// One subscription to URLs: categories of one interface, or of all. Private to this folder.
//
// As Dubbo delivers them: everything once when all of it is known, then each category that changed,
// with an `empty://` URL for one that has none. Of all interfaces, those that the root has at first
// are part of the first delivery; an interface that comes later is delivered when its categories
// are known. One that goes stays watched, for it comes back with its next provider.
//
// Threads: all on the control executor.
#ifndef SIGNPOST_REGISTRY_INTERFACE_URL_WATCH_H_
#define SIGNPOST_REGISTRY_INTERFACE_URL_WATCH_H_

#include <map>
#include <memory>
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
    bool failed = false;  // an error was told since
  };
  struct Interface {
    Url consumer;
    std::vector<Category> categories;
    bool told = false;
  };

  void OnRoot(absl::StatusOr<TreeDelta> delta);
  void AddInterface(const std::string& name);
  static bool Known(const Interface& each);
  void Append(const Url& consumer, const Category& category, std::vector<Url>& urls) const;
  // Delivers what is complete and was not told yet.
  void TellNew();

  InterfaceSubscriber& owner_;
  const Url consumer_;
  const std::vector<std::string> categories_;
  InterfaceRegistry::UrlsCallback on_urls_;
  Subscription root_;
  bool root_known_ = false;
  bool begun_ = false;  // the first delivery was made
  bool stopped_ = false;
  std::map<std::string, Interface> interfaces_;
  std::map<CategoryWatch*, Interface*> by_watch_;
};

}  // namespace signpost::interface_internal

#endif  // SIGNPOST_REGISTRY_INTERFACE_URL_WATCH_H_
