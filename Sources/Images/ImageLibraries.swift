internal import CImages

/// The libraries of this target, as the process has loaded them; of libjpeg-turbo, which doesn't tell, as it was built with.
package enum ImageLibraries {
    /// Names and versions, as `libpng` and `1.6.39`; none where they aren't built in, see the package's trait `Images`.
    package static var versions: [(name: String, version: String)] {
        guard recast_image_is_built_in() else { return [] }
        return [
            ("libjpeg-turbo", RECAST_IMAGE_LIBJPEG), ("libpng", RECAST_IMAGE_LIBPNG), ("libwebp", RECAST_IMAGE_LIBWEBP),
        ].map { name, library in
            let version = recast_image_version(library)
            return (name, "\(version >> 16).\(version >> 8 & 0xFF).\(version & 0xFF)")
        }
    }
}
