// The revision: one name for one content of a MetadataInfo.
#ifndef SIGNPOST_METADATA_REVISION_H_
#define SIGNPOST_METADATA_REVISION_H_

#include <string>

#include "signpost/metadata/metadata_info.h"

namespace signpost {

// Java's formula (MetadataInfo.calAndGetRevision): "0" without services, else MD5 over application
// and, in order of match key, key, port, path and parameters. info.revision is not looked at.
// Equal on all processes that export the same; the application's name enters, since Java caches
// by revision alone.
std::string ComputeRevision(const MetadataInfo& info);

}  // namespace signpost

#endif  // SIGNPOST_METADATA_REVISION_H_
