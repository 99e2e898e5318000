// TCP connections that another thread can end, and ports to listen on.
//
// Threads: one at a time for each connection, but Interrupt: any thread.
// Units: deadlines are of Clock::Real().MonotonicNow().
// Errors: kUnavailable: unknown, refused, broken, interrupted; kDeadlineExceeded: not in time;
//   kFailedPrecondition: cannot listen there. Before there is a connection they name the address.
#ifndef SIGNPOST_COMMON_TCP_H_
#define SIGNPOST_COMMON_TCP_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace signpost {

// Closes it.
class FileDescriptor {
 public:
  FileDescriptor() = default;
  explicit FileDescriptor(int fd) : fd_(fd) {}
  FileDescriptor(FileDescriptor&& other) noexcept : fd_(other.Release()) {}
  FileDescriptor& operator=(FileDescriptor&& other) noexcept;
  ~FileDescriptor();

  int get() const { return fd_; }
  explicit operator bool() const { return fd_ >= 0; }
  int Release();

 private:
  int fd_ = -1;
};

// Whether the look-up of such a host ends at once.
bool IsNumericHost(const std::string& host);

// A connected, non-blocking socket. `timeout`: of each address that the host has. Ends early when
// `stop` becomes true, but for the look-up of a name, which nothing ends.
absl::StatusOr<FileDescriptor> ConnectTcp(const std::string& host, uint16_t port,
                                          absl::Duration timeout, const std::atomic<bool>& stop);

// A non-blocking socket that listens. Empty host: all addresses of this machine, by IPv6 and IPv4.
// Port 0: any that is free.
absl::StatusOr<FileDescriptor> ListenTcp(const std::string& host, uint16_t port);
// Where a socket listens; 0: it does not.
uint16_t ListeningPort(const FileDescriptor& socket);

class TcpConnection {
 public:
  static absl::StatusOr<std::unique_ptr<TcpConnection>> Connect(const std::string& host,
                                                                uint16_t port,
                                                                absl::Duration timeout,
                                                                const std::atomic<bool>& stop);
  TcpConnection(const TcpConnection&) = delete;
  TcpConnection& operator=(const TcpConnection&) = delete;

  // All of `bytes`.
  absl::Status Send(absl::string_view bytes, absl::Duration deadline);
  // Waits for some bytes and appends them, at most 64 KiB. False: the other end has closed.
  absl::StatusOr<bool> Receive(std::string& to, absl::Duration deadline);
  // What waits ends with an error, and so does each further call.
  void Interrupt();

 private:
  explicit TcpConnection(FileDescriptor socket);
  absl::Status Await(short events, absl::Duration deadline) const;

  const FileDescriptor socket_;
  std::atomic<bool> interrupted_{false};
};

}  // namespace signpost

#endif  // SIGNPOST_COMMON_TCP_H_
