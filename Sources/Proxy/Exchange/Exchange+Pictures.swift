internal import Gateway
internal import Images
internal import Transcoding

// Pictures of a converted request: made smaller on other threads, while the request waits.
extension Exchange {
    /// Has the picture made that the conversion holds, unless it is being made. `transcodeAfterTick` goes on with the request.
    func awaitPicture() throws(Refusal) {
        guard picture == nil, let file = requestTranscoder.takeFile() else { return }
        switch try PictureWork.begin(file) {
        case .settled(let settled):
            requestTranscoder.settleFile(settled)
            awaitNextTick()
        case .work(let work):
            let pending = PendingPicture(work) { [unowned self] in pictureMade($0) }
            let settings = snapshot?.settings.images ?? ImageSettings()
            switch worker.pictures.add(pending, settings, share: worker.share) {
            case .taken: picture = pending
            case .full:
                worker.counters.admission.overloaded += 1
                throw .overloaded
            case .noMemory:
                worker.memory.counters.refusedRequest += 1
                throw .memoryExhausted
            }
        }
    }

    /// The picture has come, or why there is none. The exchange that waited for it hasn't ended.
    private func pictureMade(_ result: Result<[UInt8], ImageFault>) {
        guard let pending = picture else { return }
        picture = nil
        catchingRefusal { () throws(Refusal) in
            requestTranscoder.settleFile(try pending.work.settled(result))
            try transcodeAfterTick()
        }
    }

    /// The exchange is over, or refused: nobody waits for the picture.
    func dropPicture() {
        guard let pending = picture else { return }
        picture = nil
        worker.pictures.drop(pending)
    }
}
