// Calls of org.example.Greeter: picks an address, uses its connection, and goes elsewhere when that
// fails.
//
// Threads: Greet from any thread, not from the control executor: it waits.
// Ownership: `connections` must outlive it.
// Errors: of Pick (nobody provides it), of the last try, or that no connection is open, and why.
#ifndef SIGNPOST_EXAMPLES_GREETING_GREETER_STUB_H_
#define SIGNPOST_EXAMPLES_GREETING_GREETER_STUB_H_

#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "signpost/client/directory.h"
#include "signpost/examples/greeting/connections.h"

namespace example {

struct CallLimits {
  size_t tries = 3;                                        // Default: 3, each on another connection
  absl::Duration try_timeout = absl::Milliseconds(500);    // of one try. Default: 500 ms
  absl::Duration call_timeout = absl::Milliseconds(2000);  // of all together. Default: 2 s
};

struct Greeting {
  std::string text;
  size_t tries = 1;
};

class GreeterStub {
 public:
  GreeterStub(std::shared_ptr<signpost::Directory> directory, Connections& connections,
              CallLimits limits = CallLimits());

  // May reach a provider more than once, if it is not known whether it did its work: right for
  // calls that change nothing.
  absl::StatusOr<Greeting> Greet(const std::string& name) const;

 private:
  struct Choice {
    signpost::PickResult picked;
    std::shared_ptr<Connection> connection;  // null: none that is open and was not tried
    absl::Status why;                        // of that
  };
  absl::StatusOr<Choice> Choose(const std::vector<std::shared_ptr<Connection>>& tried) const;
  absl::StatusOr<std::string> Try(Choice& choice, const std::string& name,
                                  absl::Duration timeout) const;

  const std::shared_ptr<signpost::Directory> directory_;
  Connections& connections_;
  const CallLimits limits_;
};

}  // namespace example

#endif  // SIGNPOST_EXAMPLES_GREETING_GREETER_STUB_H_
