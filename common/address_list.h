// The addresses of a service: immutable, versioned, made of 32-bit ids of interned records.
//
// An EndpointTable (one per Client) owns the records, which share what all instances of a revision
// have in common; an AddressList holds ids in leaves of 256 that successive versions share, so a
// new version costs what changed.
// Changes travel as (new version, AddressDelta).
//
// Threads: EndpointTable: Intern and Release-by-destruction from any thread. AddressList and
//   AddressDelta are immutable. Endpoint may be copied and dropped on any thread.
// Ownership: a record lives until no AddressList and no Endpoint names it; both may outlive the
//   table.
#ifndef SIGNPOST_COMMON_ADDRESS_LIST_H_
#define SIGNPOST_COMMON_ADDRESS_LIST_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"

namespace signpost {

using StringMap = std::map<std::string, std::string>;

// What all instances of one revision say of one service by one protocol.
struct EndpointService {
  std::string name;  // [group/]interface[:version]
  std::string protocol;
  std::string app;
  std::string revision;
  std::string path;  // interface name unless the provider says otherwise
  StringMap params;

  friend bool operator==(const EndpointService& a, const EndpointService& b) {
    return a.name == b.name && a.protocol == b.protocol && a.app == b.app &&
           a.revision == b.revision && a.path == b.path && a.params == b.params;
  }
};

// One way to reach one service on one instance.
struct EndpointSpec {
  std::string host;  // IPv6 without brackets
  uint16_t port = 0;
  int32_t weight = 100;      // instance metadata `weight`, else service parameter, else 100
  int64_t timestamp_ms = 0;  // start of the instance, 0 unknown
  // Shared by all endpoints of it. Of an interned endpoint never null.
  std::shared_ptr<const EndpointService> service;
  // Shared by all endpoints of one instance. May be null.
  std::shared_ptr<const StringMap> instance_metadata;

  // Parameter of the service, else of the instance, else "".
  absl::string_view Get(absl::string_view key) const;
};

class EndpointTable;

namespace common_internal {
struct EndpointRecord;
struct EndpointTableState;
}  // namespace common_internal

// A handle to a record: valid from Pick to Done, on any thread. Null by default.
class Endpoint {
 public:
  Endpoint() = default;
  Endpoint(const Endpoint& other);
  Endpoint(Endpoint&& other) noexcept : record_(std::exchange(other.record_, nullptr)) {}
  Endpoint& operator=(Endpoint other) noexcept {
    std::swap(record_, other.record_);
    return *this;
  }
  ~Endpoint();

  explicit operator bool() const { return record_ != nullptr; }
  const EndpointSpec& operator*() const;
  const EndpointSpec* operator->() const { return &**this; }
  uint32_t id() const;
  // `host:port`, IPv6 in brackets.
  std::string address() const;
  // Calls between Pick and Done.
  int32_t in_flight() const;
  // What the Directory counts them with. REQUIRES: a BeginCall for each EndCall.
  void BeginCall() const;
  void EndCall() const;

  friend bool operator==(const Endpoint& a, const Endpoint& b) { return a.record_ == b.record_; }
  friend bool operator!=(const Endpoint& a, const Endpoint& b) { return !(a == b); }

 private:
  friend class EndpointTable;
  friend class AddressList;
  explicit Endpoint(common_internal::EndpointRecord* record);  // takes a reference
  common_internal::EndpointRecord* record_ = nullptr;
};

class EndpointTable {
 public:
  EndpointTable();
  ~EndpointTable();
  EndpointTable(const EndpointTable&) = delete;
  EndpointTable& operator=(const EndpointTable&) = delete;

  // The record that equals `spec`, new if there is none. Null when 16 million are alive.
  Endpoint Intern(EndpointSpec spec);
  // Records alive.
  size_t size() const;

 private:
  common_internal::EndpointTableState* const state_;  // its own when the table has gone
};

// Ids are of Endpoint::id(). `updated`: same (host, port, protocol, app, service, path), other
// content: the old id goes, the new one comes, at the same position.
struct AddressDelta {
  uint64_t from_version = 0;
  uint64_t to_version = 0;
  std::vector<Endpoint> added;
  std::vector<Endpoint> removed;
  struct Update {
    Endpoint before;
    Endpoint after;
  };
  std::vector<Update> updated;

  bool empty() const { return added.empty() && removed.empty() && updated.empty(); }
};

class AddressList {
 public:
  // Version 0, nothing in it.
  static std::shared_ptr<const AddressList> Empty();

  // Another content, another version: no two lists of a process that Apply made have the same.
  uint64_t version() const { return version_; }
  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  // REQUIRES: index < size(). Order is stable but means nothing.
  Endpoint at(size_t index) const;
  const EndpointSpec& spec(size_t index) const;
  uint32_t id(size_t index) const;
  void ForEach(const std::function<void(const Endpoint&)>& fn) const;

  // The list after `delta`, with a version of its own: shares the leaves that did not change.
  // REQUIRES: what is removed or updated is in this list.
  std::shared_ptr<const AddressList> Apply(const AddressDelta& delta) const;

  // What leads from this list to one that holds just `wanted` (each once). Its
  // `to_version` is not known before Apply: left 0.
  AddressDelta DiffTo(const std::vector<Endpoint>& wanted) const;

  ~AddressList();

 private:
  struct Leaf;
  AddressList() = default;
  uint64_t version_ = 0;
  size_t size_ = 0;
  std::vector<std::shared_ptr<const Leaf>> leaves_;
};

}  // namespace signpost

#endif  // SIGNPOST_COMMON_ADDRESS_LIST_H_
