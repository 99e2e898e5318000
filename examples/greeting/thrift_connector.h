// Connections over Apache Thrift: TFramedTransport, TBinaryProtocol, one socket each.
//
// Threads: as the ports; connects run on a few threads of its own, so a host that does not answer
//   holds up only some of the others, for `connect_timeout`.
// Errors: as the ports; no Thrift exception leaves it.
#ifndef SIGNPOST_EXAMPLES_GREETING_THRIFT_CONNECTOR_H_
#define SIGNPOST_EXAMPLES_GREETING_THRIFT_CONNECTOR_H_

#include <memory>

#include "absl/time/time.h"
#include "signpost/examples/greeting/connections.h"

namespace example {

// Calls on one connection run one after another. Destroying the connector waits for what is being
// connected.
std::unique_ptr<Connector> NewThriftConnector(absl::Duration connect_timeout = absl::Seconds(1));

}  // namespace example

#endif  // SIGNPOST_EXAMPLES_GREETING_THRIFT_CONNECTOR_H_
