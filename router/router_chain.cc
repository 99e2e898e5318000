#include "signpost/router/router_chain.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <numeric>
#include <tuple>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"

namespace signpost {
namespace {

// Rules of several routers multiply. Beyond this many decisions the later routers are left out.
constexpr size_t kMaxNodes = 50000;

Subset Intersect(const Subset& a, const Subset& b) {
  Subset both;
  std::set_intersection(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(both));
  return both;
}

// What `rule` makes of `input`.
Subset Decide(const RouteRule& rule, const Subset& input) {
  for (const Subset& subset : rule.subsets) {
    Subset chosen = Intersect(subset, input);
    if (!chosen.empty()) return chosen;
  }
  return rule.force ? Subset() : input;
}

}  // namespace

size_t RouteTable::PoolFor(const Request& request) const {
  int at = root_;
  while (at >= 0) {
    const Node& node = nodes_[static_cast<size_t>(at)];
    at = node.matches(request) ? node.yes : node.no;
  }
  return static_cast<size_t>(~at);
}

// Builds one table: a tree of decisions, router after router, whose leaves are pools. Equal
// questions (same router, same input) share one subtree.
class RouterChain::Compiler {
 public:
  Compiler(const std::vector<std::unique_ptr<Router>>& routers, RouteTable& table)
      : routers_(routers), table_(table) {}

  int Run(size_t router, const Subset& input, const std::string& decided_by) {
    auto key = std::make_tuple(router, input, decided_by);
    auto known = known_.find(key);
    if (known != known_.end()) return known->second;
    const int root = RunNew(router, input, decided_by);
    known_.emplace(std::move(key), root);
    return root;
  }

 private:
  int RunNew(size_t router, const Subset& input, const std::string& decided_by) {
    // Nothing is left to narrow.
    if (router == routers_.size() || (input.empty() && router > 0)) {
      table_.pools_.push_back({input, decided_by});
      return ~static_cast<int>(table_.pools_.size() - 1);
    }
    const Router& current = *routers_[router];
    if (table_.nodes_.size() > kMaxNodes) {
      Note(absl::StrCat(current.name(), ": left out, the rules make too many request classes"));
      return Run(router + 1, input, decided_by);
    }
    absl::StatusOr<std::vector<RouteRule>> rules = current.Route(*table_.list_, input);
    if (!rules.ok()) {
      Note(absl::StrCat(current.name(), ": ", rules.status().message()));
      return Run(router + 1, input, decided_by);
    }
    // From the last rule to the first, since each needs to know what follows when it does not
    // match.
    size_t used = 0;
    while (used < rules->size() && (*rules)[used].matches != nullptr) ++used;
    int below = 0;
    if (used < rules->size()) {
      below = RunRule(router, (*rules)[used], input, current);
    } else {
      below = Run(router + 1, input, decided_by);
    }
    for (size_t i = used; i-- > 0;) {
      RouteRule& rule = (*rules)[i];
      const int yes = RunRule(router, rule, input, current);
      table_.nodes_.push_back({std::move(rule.matches), yes, below});
      below = static_cast<int>(table_.nodes_.size() - 1);
    }
    return below;
  }

  int RunRule(size_t router, const RouteRule& rule, const Subset& input, const Router& current) {
    return Run(router + 1, Decide(rule, input), absl::StrCat(current.name(), "/", rule.name));
  }

  void Note(std::string text) {
    if (std::find(table_.notes_.begin(), table_.notes_.end(), text) == table_.notes_.end()) {
      table_.notes_.push_back(std::move(text));
    }
  }

  const std::vector<std::unique_ptr<Router>>& routers_;
  RouteTable& table_;
  std::map<std::tuple<size_t, Subset, std::string>, int> known_;
};

RouterChain::RouterChain(std::vector<std::unique_ptr<Router>> routers)
    : routers_(std::move(routers)) {
  std::stable_sort(routers_.begin(), routers_.end(),
                   [](const auto& a, const auto& b) { return a->priority() < b->priority(); });
}

std::shared_ptr<const RouteTable> RouterChain::Compile(
    std::shared_ptr<const AddressList> list) const {
  auto table = std::make_shared<RouteTable>();
  Subset all(list->size());
  std::iota(all.begin(), all.end(), 0u);
  table->list_ = std::move(list);
  table->root_ = Compiler(routers_, *table).Run(0, all, "");
  return table;
}

}  // namespace signpost
