// A consumer of org.example.Greeter over Apache Thrift: calls it again and again until SIGTERM, and
// lives through providers that come, go and die.
//
//   consumer --calls=10
//
// What it prints, one line each:
//   open ADDRESS           a connection stands
//   retry ADDRESS: WHY     it could not be opened; it is tried again
//   close ADDRESS: WHY     it broke, or its address has left
//   cancel ADDRESS: WHY    the address has left before a connection stood
//   call N: hello Ann, from ADDRESS            and "(try 2)" if an address before failed
//   call N failed: WHY
//   calls N, retried N, failed N               at the end; exit status 1 if a call failed
#include <gflags/gflags.h>
#include <signal.h>
#include <thrift/TOutput.h>

#include <algorithm>
#include <iostream>
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "signpost/client/client.h"
#include "signpost/common/mutex.h"
#include "signpost/examples/greeting/connections.h"
#include "signpost/examples/greeting/greeter_stub.h"
#include "signpost/examples/greeting/open_client.h"
#include "signpost/examples/greeting/thrift_connector.h"

DEFINE_int32(calls, 0, "how many calls to make; 0: until SIGTERM");
DEFINE_double(rate, 2, "calls a second, at most 1000");
DEFINE_string(name, "Ann", "who is to be greeted");

namespace example {
namespace {

// Two threads print: this one and the control executor.
void PrintLine(const std::string& line) {
  static auto* const mutex = new signpost::Mutex;
  signpost::MutexLock lock(*mutex);
  std::cout << line << std::endl;
}

void PrintEvent(const ConnectionEvent& event) {
  switch (event.kind) {
    case ConnectionEvent::Kind::kOpened:
      return PrintLine(absl::StrCat("open ", event.address));
    case ConnectionEvent::Kind::kClosed:
      return PrintLine(absl::StrCat("close ", event.address, ": ", event.why));
    case ConnectionEvent::Kind::kRetry:
      return PrintLine(absl::StrCat("retry ", event.address, ": ", event.why));
    case ConnectionEvent::Kind::kCancelled:
      return PrintLine(absl::StrCat("cancel ", event.address, ": ", event.why));
  }
}

bool StoppedWithin(const sigset_t& stop, absl::Duration time) {
  const timespec wait = absl::ToTimespec(time);
  return sigtimedwait(&stop, nullptr, &wait) > 0;
}

// How many failed.
int Call(const GreeterStub& greeter, const sigset_t& stop) {
  const absl::Duration pause = absl::Seconds(1) / std::clamp(FLAGS_rate, 0.01, 1000.0);
  int calls = 0, retried = 0, failed = 0;
  do {
    ++calls;
    auto greeting = greeter.Greet(FLAGS_name);
    if (!greeting.ok()) {
      ++failed;
      PrintLine(absl::StrCat("call ", calls, " failed: ", greeting.status().message()));
    } else if (greeting->tries > 1) {
      ++retried;
      PrintLine(absl::StrCat("call ", calls, ": ", greeting->text, " (try ", greeting->tries, ")"));
    } else {
      PrintLine(absl::StrCat("call ", calls, ": ", greeting->text));
    }
  } while (calls != FLAGS_calls && !StoppedWithin(stop, pause));
  PrintLine(absl::StrCat("calls ", calls, ", retried ", retried, ", failed ", failed));
  return failed;
}

absl::StatusOr<int> Run(const sigset_t& stop) {
  auto client = OpenClient(signpost::ClientOptions(), "greeting-consumer");
  if (!client.ok()) return client.status();
  signpost::ReferOptions only_thrift;
  only_thrift.protocol = "thrift";
  auto directory = (*client)->consumer().Refer("org.example.Greeter", only_thrift);
  if (!directory.ok()) return directory.status();

  // Taken down from the last to the first.
  const auto connector = NewThriftConnector();
  Connections connections((*client)->executor(), *connector, PrintEvent);
  const auto watch = (*directory)->OnChange([&connections](const signpost::ServiceAddresses& now) {
    connections.Update(now.delta);
  });

  // Not ready is no reason to give up: the calls say why, and a provider may start later.
  (*directory)->WaitReady(absl::Seconds(5)).IgnoreError();
  return Call(GreeterStub(*directory, connections), stop);
}

}  // namespace
}  // namespace example

int main(int argc, char** argv) {
  gflags::SetUsageMessage("consumer [--calls=N] [--rate=N] [--registry=URL] ...");
  gflags::ParseCommandLineFlags(&argc, &argv, /*remove_flags=*/true);
  if (argc > 1) {
    std::cerr << "consumer: what is " << argv[1] << "? See --helpshort\n";
    return 2;
  }
  const sigset_t stop = example::BlockStopSignals();
  // Thrift writes to stderr what it then throws.
  apache::thrift::GlobalOutput.setOutputFunction([](const char*) {});
  const absl::StatusOr<int> failed = example::Run(stop);
  if (!failed.ok()) std::cerr << "consumer: " << failed.status().message() << "\n";
  return failed.ok() && *failed == 0 ? 0 : 1;
}
