// Runs routers in order and compiles what they say to pools.
//
// Threads: Compile on one thread at a time; RouteTable is immutable and read by callers.
// Ownership: the chain owns its routers; a table shares the list it was made of.
#ifndef SIGNPOST_ROUTER_ROUTER_CHAIN_H_
#define SIGNPOST_ROUTER_ROUTER_CHAIN_H_

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "signpost/common/address_list.h"
#include "signpost/common/request.h"
#include "signpost/router/router.h"

namespace signpost {

class RouteTable {
 public:
  struct Pool {
    Subset members;
    std::string decided_by;  // "router/rule" that made it empty or chose it; "" for the catch-all
  };
  static constexpr size_t kNoPool = static_cast<size_t>(-1);

  // The pool of a request: an index into pools(). Never kNoPool. O(conditions), no allocation.
  size_t PoolFor(const Request& request) const;

  const std::vector<Pool>& pools() const { return pools_; }
  const std::shared_ptr<const AddressList>& list() const { return list_; }
  // Routers that failed, with why.
  const std::vector<std::string>& notes() const { return notes_; }

 private:
  friend class RouterChain;
  // A binary decision per node: matches -> yes, else -> no; negative: ~index of a pool.
  struct Node {
    std::function<bool(const Request&)> matches;
    int yes = 0;
    int no = 0;
  };
  std::shared_ptr<const AddressList> list_;
  std::vector<Node> nodes_;
  int root_ = ~0;
  std::vector<Pool> pools_;
  std::vector<std::string> notes_;
};

class RouterChain {
 public:
  // Sorted by priority, then by the order given.
  explicit RouterChain(std::vector<std::unique_ptr<Router>> routers);

  std::shared_ptr<const RouteTable> Compile(std::shared_ptr<const AddressList> list) const;

 private:
  class Compiler;
  std::vector<std::unique_ptr<Router>> routers_;
};

}  // namespace signpost

#endif  // SIGNPOST_ROUTER_ROUTER_CHAIN_H_
