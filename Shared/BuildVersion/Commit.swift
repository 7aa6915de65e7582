/// What `git archive` leaves of a placeholder of its own (`export-subst` in gitattributes(5)): the commit's 40 digits.
///
/// In a working tree the placeholder stands as it is, so that a commit changes no source and rebuilds nothing.
let commitStamp = "$Format:%H$"
