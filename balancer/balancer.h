// Picks one address of a pool.
//
// A Balancer is the control object: it is told of each new version of its pool and builds an
// immutable Picker from it, reusing what did not change. Pickers are used by callers.
//
// Threads: Balancer on the control executor, one call at a time. Picker: Pick and Done from any
//   thread at once; no lock shared between threads, no allocation.
// Ownership: a Picker shares what it needs; it may outlive its Balancer.
// Errors: none; an empty pool gives kNone.
#ifndef SIGNPOST_BALANCER_BALANCER_H_
#define SIGNPOST_BALANCER_BALANCER_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "signpost/common/address_list.h"
#include "signpost/common/clock.h"
#include "signpost/common/factory_map.h"
#include "signpost/common/request.h"
#include "signpost/common/url.h"

namespace signpost {

class Picker {
 public:
  static constexpr size_t kNone = static_cast<size_t>(-1);

  virtual ~Picker() = default;

  // Index into the pool that the picker was built for; kNone if the pool is empty.
  virtual size_t Pick(const Request& request) const = 0;

  // Whether Done wants to be called. Default: false
  virtual bool wants_feedback() const { return false; }
  virtual void Done(size_t index, const CallOutcome& outcome) const {
    (void)index;
    (void)outcome;
  }
};

// What a balancer sees of one address: also callers' own objects by index.
struct PoolMember {
  uint32_t id = 0;           // same object, same id, across versions
  int32_t weight = 100;      // negative counts as 0
  int64_t timestamp_ms = 0;  // start, for warm-up; 0 unknown
};

class Balancer {
 public:
  virtual ~Balancer() = default;
  virtual std::shared_ptr<const Picker> Build(const std::vector<PoolMember>& pool) = 0;
};

struct BalancerOptions {
  // Parameters of the consumer (`hash.nodes`, `warmup`, ...).
  Url url;
  const Clock* clock = &Clock::Real();  // must outlive the balancer
  uint64_t seed = 0;                    // 0: random
};

// By Dubbo's names for parameter `loadbalance`: "random", "roundrobin".
using BalancerFactory = std::function<std::unique_ptr<Balancer>(const BalancerOptions&)>;
using BalancerFactories = FactoryMap<BalancerFactory>;

// Adds all balancers of this folder.
absl::Status AddBuiltinBalancers(BalancerFactories& factories);

}  // namespace signpost

#endif  // SIGNPOST_BALANCER_BALANCER_H_
