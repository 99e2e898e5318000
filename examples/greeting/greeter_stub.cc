#include "signpost/examples/greeting/greeter_stub.h"

#include <algorithm>

#include "signpost/common/clock.h"
#include "signpost/common/status.h"

namespace example {
namespace {

using signpost::CallOutcome;

// A pick costs nanoseconds, and among two addresses the good one is missed once in 2^32.
constexpr int kPicks = 32;

absl::Duration Now() { return signpost::Clock::Real().MonotonicNow(); }

CallOutcome Outcome(const absl::Status& status, absl::Duration latency) {
  CallOutcome outcome;
  outcome.latency_ns = absl::ToInt64Nanoseconds(latency);
  if (absl::IsDeadlineExceeded(status)) {
    outcome.result = CallOutcome::Result::kTimeout;
  } else if (!status.ok()) {
    outcome.result = CallOutcome::Result::kError;
  }
  return outcome;
}

}  // namespace

GreeterStub::GreeterStub(std::shared_ptr<signpost::Directory> directory, Connections& connections,
                         CallLimits limits)
    : directory_(std::move(directory)), connections_(connections), limits_(limits) {}

absl::StatusOr<Greeting> GreeterStub::Greet(const std::string& name) const {
  const absl::Duration end = Now() + limits_.call_timeout;
  std::vector<std::shared_ptr<Connection>> tried;
  absl::Status last = absl::DeadlineExceededError("no time for a call");
  while (tried.size() < limits_.tries) {
    const absl::Duration left = end - Now();
    if (left <= absl::ZeroDuration()) break;
    const uint64_t opened = connections_.opened();
    absl::StatusOr<Choice> choice = Choose(tried);
    if (!choice.ok()) return tried.empty() ? choice.status() : last;
    if (choice->connection == nullptr) {
      // The first call of a process, or nobody answers: a connection may be opened yet.
      if (tried.empty()) last = choice->why;
      if (!connections_.AwaitOpened(opened, left)) break;
      continue;
    }
    absl::StatusOr<std::string> answer = Try(*choice, name, std::min(left, limits_.try_timeout));
    tried.push_back(choice->connection);
    if (answer.ok()) return Greeting{*std::move(answer), tried.size()};
    last = answer.status();
    if (!signpost::IsRetryable(last)) break;
  }
  return last;
}

absl::StatusOr<GreeterStub::Choice> GreeterStub::Choose(
    const std::vector<std::shared_ptr<Connection>>& tried) const {
  signpost::Request request;
  request.method = "greet";
  Choice choice;
  for (int picks = 0; picks < kPicks; ++picks) {
    auto picked = directory_->Pick(request);
    if (!picked.ok()) return picked.status();
    auto connection = connections_.Find(picked->endpoint.address());
    if (connection.ok() && std::find(tried.begin(), tried.end(), *connection) == tried.end()) {
      choice.picked = *std::move(picked);
      choice.connection = *std::move(connection);
      return choice;
    }
    choice.why = connection.status();
    CallOutcome unused;
    unused.result = CallOutcome::Result::kCancelled;
    directory_->Done(*picked, unused);
  }
  return choice;
}

absl::StatusOr<std::string> GreeterStub::Try(Choice& choice, const std::string& name,
                                             absl::Duration timeout) const {
  const std::string address = choice.picked.endpoint.address();
  const absl::Duration begun = Now();
  auto answer = choice.connection->Greet(name, timeout);
  directory_->Done(choice.picked, Outcome(answer.status(), Now() - begun));
  if (answer.ok()) return answer;
  if (signpost::IsRetryable(answer.status())) {
    connections_.Broken(address, choice.connection, answer.status());
  }
  return signpost::Annotate(answer.status(), address);
}

}  // namespace example
