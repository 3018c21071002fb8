// Reads each configuration file once, for what reads many that name the same ones.
//
//   const KeptFiles kept;  // until the end of the scope, on this thread
//
// A file that changes meanwhile stays as it was. An error in one shows who named it first.
#pragma once

namespace weft {

class KeptFiles {
 public:
  KeptFiles();
  ~KeptFiles();
  KeptFiles(const KeptFiles&) = delete;
  KeptFiles& operator=(const KeptFiles&) = delete;
};

}  // namespace weft
