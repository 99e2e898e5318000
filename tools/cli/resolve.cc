// resolve, watch: by the library's own consumer path.
#include <algorithm>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "signpost/common/await.h"
#include "signpost/common/clock.h"
#include "signpost/common/json.h"
#include "signpost/common/log.h"
#include "signpost/common/mutex.h"
#include "signpost/common/status.h"
#include "signpost/tools/cli/commands.h"
#include "signpost/tools/cli/output.h"
#include "signpost/tools/cli/session.h"

namespace signpost::cli {
namespace {

absl::Status CheckLevel(const Arguments& arguments) {
  for (const char* known : {"", "application", "interface", "dual"}) {
    if (arguments.level == known) return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      absl::StrCat("--level=", arguments.level, ": application, interface or dual"));
}

absl::StatusOr<std::shared_ptr<Directory>> Refer(Session& session, const Arguments& arguments) {
  ReferOptions options;
  options.protocol = arguments.protocol;
  options.provided_by = arguments.provided_by;
  return session.client().consumer().Refer(arguments.positional[0], options);
}

// Sorted by host, port, protocol.
std::vector<Endpoint> Sorted(const AddressList& list) {
  std::vector<Endpoint> endpoints;
  list.ForEach([&](const Endpoint& endpoint) { endpoints.push_back(endpoint); });
  std::sort(endpoints.begin(), endpoints.end(), [](const Endpoint& a, const Endpoint& b) {
    return std::tie(a->host, a->port, a->service->protocol, a->service->app) <
           std::tie(b->host, b->port, b->service->protocol, b->service->app);
  });
  return endpoints;
}

Json EndpointsJson(const std::vector<Endpoint>& endpoints) {
  Json array{Json::Array()};
  for (const Endpoint& endpoint : endpoints) {
    Json json;
    json.Set("host", endpoint->host);
    json.Set("port", int64_t{endpoint->port});
    json.Set("protocol", endpoint->service->protocol);
    json.Set("app", endpoint->service->app);
    json.Set("revision", endpoint->service->revision);
    json.Set("weight", int64_t{endpoint->weight});
    json.Set("params", JsonFromStringMap(endpoint->service->params));
    array.Append(std::move(json));
  }
  return array;
}

void PrintEndpoints(std::ostream& out, const std::vector<Endpoint>& endpoints) {
  Table table({"ADDRESS", "PROTOCOL", "APP", "REVISION", "WEIGHT"});
  for (const Endpoint& endpoint : endpoints) {
    table.Add({endpoint.address(), endpoint->service->protocol, endpoint->service->app,
               endpoint->service->revision, absl::StrCat(endpoint->weight)});
  }
  table.Print(out);
}

// The first notification that is final: whole, or naming something that does not exist. What is
// only not whole yet is waited for.
struct FirstAnswer {
  Mutex mutex;
  CondVar changed;
  ServiceAddresses last ABSL_GUARDED_BY(mutex);
  bool known ABSL_GUARDED_BY(mutex) = false;
  bool final ABSL_GUARDED_BY(mutex) = false;
};

}  // namespace

int Resolve(Invocation& call) {
  const Arguments& arguments = call.arguments;
  if (absl::Status status = CheckLevel(arguments); !status.ok()) {
    return Fail(call.err, "resolve", status);
  }
  auto session = Session::Open(call, Session::As::kApplication);
  if (!session.ok()) return Fail(call.err, "registry", session.status());
  auto directory = Refer(**session, arguments);
  if (!directory.ok()) return Fail(call.err, "resolve", directory.status());

  auto answer = std::make_shared<FirstAnswer>();
  Directory& found = **directory;
  Subscription subscription = found.OnChange([answer, &found](const ServiceAddresses& addresses) {
    MutexLock lock(answer->mutex);
    answer->last = addresses;
    answer->known = true;
    // A registry that cannot be reached now may come, and metadata too, and the other level.
    answer->final = !IsRetryable(addresses.state) && found.complete();
    answer->changed.SignalAll();
  });
  ServiceAddresses addresses;
  bool known = false;
  {
    Clock& clock = Clock::Real();
    const absl::Duration end = clock.MonotonicNow() + arguments.timeout;
    MutexLock lock(answer->mutex);
    while (!answer->final && clock.MonotonicNow() < end) {
      answer->changed.WaitFor(answer->mutex, end - clock.MonotonicNow());
    }
    addresses = answer->last;
    known = answer->known;
  }
  subscription.Cancel();

  const std::string& service = (*directory)->service();
  if (!known) {
    return Fail(call.err, service,
                absl::DeadlineExceededError(
                    absl::StrCat("no answer in ", absl::FormatDuration(arguments.timeout))));
  }
  if (addresses.list == nullptr || addresses.list->empty()) {
    absl::Status why = addresses.state.ok() ? absl::NotFoundError("no address") : addresses.state;
    // The registry has answered; a provider has not.
    if (IsRetryable(why) && (*session)->client().centre().store().IsAvailable()) {
      why = absl::NotFoundError(why.message());
    }
    return Fail(call.err, service, why);
  }
  if (!addresses.state.ok()) {
    PrintLine(call.err,
              absl::StrCat("signpost: ", service, ": not whole: ", addresses.state.message()));
  }
  const std::vector<Endpoint> endpoints = Sorted(*addresses.list);
  if (arguments.json) {
    Json document;
    document.Set("service", service);
    document.Set("level", (*session)->level());
    document.Set("endpoints", EndpointsJson(endpoints));
    document.Set("stale", false);
    call.out << document.Print() << '\n';
  } else {
    PrintEndpoints(call.out, endpoints);
  }
  return kDone;
}

int Watch(Invocation& call) {
  const Arguments& arguments = call.arguments;
  if (absl::Status status = CheckLevel(arguments); !status.ok()) {
    return Fail(call.err, "watch", status);
  }
  auto session = Session::Open(call, Session::As::kApplication);
  if (!session.ok()) return Fail(call.err, "registry", session.status());
  if (!(*session)->client().centre().store().capabilities().live) {
    return Fail(call.err, "watch",
                absl::FailedPreconditionError(
                    "this registry belongs to another process, and a copy beside it sees no change "
                    "(run `signpost serve` on its directory and use signpost://127.0.0.1:2280)"));
  }
  auto directory = Refer(**session, arguments);
  if (!directory.ok()) return Fail(call.err, "watch", directory.status());
  // Of the control executor until the subscription is cancelled.
  bool known = false;
  absl::Status state = absl::DeadlineExceededError("no answer");
  Subscription subscription = (*directory)->OnChange([&](const ServiceAddresses& addresses) {
    state = addresses.state;
    const bool answered = !IsRetryable(state) && !absl::IsPermissionDenied(state);
    known = known || answered || !addresses.list->empty();
    const std::vector<Endpoint> endpoints = Sorted(*addresses.list);
    const auto& delta = addresses.delta;
    if (arguments.json) {
      Json line;
      line.Set("at", absl::ToUnixMillis(Clock::Real().WallNow()));
      line.Set("endpoints", EndpointsJson(endpoints));
      line.Set("added", static_cast<int64_t>(delta.added.size()));
      line.Set("removed", static_cast<int64_t>(delta.removed.size()));
      line.Set("changed", static_cast<int64_t>(delta.updated.size()));
      // A state that may pass: what is shown is what was known before.
      line.Set("stale", IsRetryable(addresses.state));
      if (!addresses.state.ok()) line.Set("state", addresses.state.message());
      call.out << line.Print() << '\n' << std::flush;
      return;
    }
    call.out << absl::FormatTime(Clock::Real().WallNow()) << ": " << endpoints.size()
             << " addresses, " << delta.added.size() << " added, " << delta.removed.size()
             << " removed, " << delta.updated.size() << " changed";
    if (!addresses.state.ok()) call.out << " (" << OneLine(addresses.state.message()) << ")";
    call.out << '\n';
    if (!endpoints.empty()) PrintEndpoints(call.out, endpoints);
    call.out << std::flush;
  });
  call.wait_for_stop(arguments.watch_for);
  subscription.Cancel();
  return known ? kDone : Fail(call.err, (*directory)->service(), state);
}

}  // namespace signpost::cli
