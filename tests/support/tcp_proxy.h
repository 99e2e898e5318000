// A TCP proxy on a free port of the loopback: what lies between may break.
//
// Threads: one of its own; methods by the test's thread.
#ifndef SIGNPOST_TESTS_SUPPORT_TCP_PROXY_H_
#define SIGNPOST_TESTS_SUPPORT_TCP_PROXY_H_

#include <atomic>
#include <cstdint>
#include <string>
#include <thread>
#include <vector>

namespace signpost {

class TcpProxy {
 public:
  // To 127.0.0.1:`target`.
  explicit TcpProxy(uint16_t target);
  ~TcpProxy();

  // Breaks the connections; new ones are broken too until Restore.
  void Break() { broken_ = true; }
  void Restore() { broken_ = false; }

  // While held, what the target says does not arrive; what is said to it does.
  void Hold() { held_ = true; }
  void Release() { held_ = false; }

  std::string address() const;
  uint16_t port() const { return port_; }
  // Port from which the newest connection reaches the target, to know it there; 0: none yet.
  uint16_t upstream_port() const { return upstream_port_; }

 private:
  void Run();

  const uint16_t target_;
  int listener_ = -1;
  uint16_t port_ = 0;
  std::atomic<uint16_t> upstream_port_{0};
  std::atomic<bool> held_{false};
  std::atomic<bool> broken_{false};
  std::atomic<bool> stop_{false};
  std::thread thread_;
};

}  // namespace signpost

#endif  // SIGNPOST_TESTS_SUPPORT_TCP_PROXY_H_
