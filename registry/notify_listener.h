// Told what a subscribed service's addresses are.
//
// [Threading] on the control executor of the client, one call at a time per subscription.
// [Locking] no lock of ours is held.
// [Exceptions] must not escape.
// [Duration] short; heavy work goes elsewhere.
// [After unsubscribe] no call once Unsubscribe, or the Subscription's Cancel, has returned.
#ifndef SIGNPOST_REGISTRY_NOTIFY_LISTENER_H_
#define SIGNPOST_REGISTRY_NOTIFY_LISTENER_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "signpost/common/address_list.h"

namespace signpost {

struct ServiceAddresses {
  std::shared_ptr<const AddressList> list;
  // From the list that this listener had before.
  AddressDelta delta;
  // The applications that the mapping names now.
  std::vector<std::string> apps;
  // OK, or the first broken link when the list is empty or not whole: no mapping, no instance, no
  // metadata for a revision.
  absl::Status state;
  bool kept = false;  // the registry names none any more; empty protection keeps the old ones

  // Whether this tells whoever heard `before` nothing. A `before` without a list was never told.
  bool Repeats(const ServiceAddresses& before) const {
    return list == before.list && delta.empty() && state == before.state && apps == before.apps &&
           kept == before.kept;
  }
};

class NotifyListener {
 public:
  virtual ~NotifyListener() = default;
  virtual void Notify(const ServiceAddresses& addresses) = 0;
};

}  // namespace signpost

#endif  // SIGNPOST_REGISTRY_NOTIFY_LISTENER_H_
