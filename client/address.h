// Which host and port of an exported URL are registered. docs/options.md has the order with its
// reasons.
//
// Threads: AddressSelector from any thread. It may ask the system's resolver for the registry's
// name, once, and only for a wildcard host.
// Errors: kInvalidArgument names the host or pattern that cannot be used; kFailedPrecondition: this
// machine has no address that could be registered.
#ifndef SIGNPOST_CLIENT_ADDRESS_H_
#define SIGNPOST_CLIENT_ADDRESS_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "signpost/client/network_interfaces.h"
#include "signpost/common/mutex.h"
#include "signpost/common/url.h"

namespace signpost {

// What consumers are told in place of what an exported URL says: behind a NAT or a container's port
// mapping it is not the address that is bound.
struct AdvertisedAddress {
  std::string host;   // IP or name. Default: not set, the URL's
  uint16_t port = 0;  // Default: not set, the URL's
};

struct AddressOptions {
  AdvertisedAddress advertised;  // of all protocols
  // A protocol's own goes before it, host and port each.
  std::map<std::string, AdvertisedAddress> advertised_by_protocol;
  // For URLs whose host is a wildcard (`0.0.0.0`, `[::]`, empty). IP or name; itself a wildcard: as
  // not set. Default: not set, an interface's
  std::string host;
  // Comma lists of names (`eth0`) and RE2 patterns of whole names (`docker.*`). Default: none
  std::string preferred_interfaces;
  std::string ignored_interfaces;
};

// kInvalidArgument names the field.
absl::Status CheckAddressOptions(const AddressOptions& options);

// An IPv4 or IPv6 address (brackets allowed, no zone) or a host name, and no wildcard.
bool IsUsableHost(absl::string_view host);
// "", `0.0.0.0`, `::` in any form.
bool IsWildcardHost(absl::string_view host);
// Of `preferred_interfaces` and `ignored_interfaces`.
absl::Status CheckInterfacePatterns(absl::string_view list);

class AddressSelector {
 public:
  // `registry`: whose route counts; an empty host: none. `interfaces` nullptr: this machine's.
  // REQUIRES: CheckAddressOptions(options) is OK.
  AddressSelector(AddressOptions options, Url registry,
                  std::shared_ptr<const NetworkInterfaces> interfaces);

  // `exported` with the host and port that are registered. What was chosen once for a wildcard
  // stays for the life of this: a process is one instance, and its exports must agree. A host with
  // a zone (`fe80::1%eth0`) is kInvalidArgument.
  absl::StatusOr<Url> Complete(const Url& exported);

  // The host that a consumer is seen with, that of exports if it can be; "": none, it may call
  // others all the same. Never warns, and what was not found is not looked for again, unless an
  // export does.
  std::string ConsumerHost();

 private:
  // Which addresses something that is bound to a wildcard answers on.
  enum class Families { kBoth, kIpv4 };

  struct Choice {
    bool made = false;
    absl::StatusOr<std::string> host = "";
    // Of what is registered that way: for the export that first uses it.
    std::vector<std::string> warnings;
  };

  AdvertisedAddress AdvertisedOf(const std::string& protocol) const;
  absl::StatusOr<std::string> HostOf(Families families, bool exported);
  Choice Choose(Families families) const;
  std::string OnPreferred(const std::vector<InterfaceAddress>& usable,
                          std::vector<std::string>& warnings) const;
  std::string OnRoute(const std::vector<InterfaceAddress>& all, Families families) const;

  const AddressOptions options_;
  const Url registry_;
  const std::shared_ptr<const NetworkInterfaces> interfaces_;
  Mutex mutex_;
  std::map<Families, Choice> chosen_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace signpost

#endif  // SIGNPOST_CLIENT_ADDRESS_H_
